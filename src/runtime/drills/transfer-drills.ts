import { type DrillCase, type DrillFinding, drillCase, findingOf } from './detectors.ts'
import { type Parcel, Rehearsal, type RehearsalOptions } from './rehearsal.ts'

const REQUEST = 'drill'

/**
 * R3, R4, R6, R8 and R10 between the legs: a request that is served as it should be, and one for each way in which it
 * should not. Among them the fault this product exists for: one page sent where more were contracted.
 */
export const transferDrills = (
  options: RehearsalOptions,
  integrity: 'full' | 'tags',
): readonly (() => DrillFinding)[] => {
  const play = (act: (stage: Rehearsal) => string): string => act(new Rehearsal(options))

  /** Reserved, computed and delivered, each leg's frames as `change` leaves them, and decoded. */
  const delivered = (change: (parcels: readonly Parcel[]) => readonly Parcel[]): Rehearsal => {
    const stage = new Rehearsal(options)
    stage.reserve(REQUEST)
    stage.prefill(REQUEST)
    stage.deliver(change(stage.parcels))
    return stage
  }

  const honest = (): DrillCase =>
    drillCase('a request as it should be', 'finished, silent', () => {
      const stage = delivered((parcels) => parcels)
      stage.decode()
      const quiet = stage.violation() === 'silent' && !stage.telemetry.some(({ kind }) => kind === 'integrity_fault')
      return `${stage.ending()}, ${quiet ? 'silent' : 'not silent'}`
    })

  const ticketFor = (leg: 'prefill' | 'decode', use: (stage: Rehearsal, send: Rehearsal['reserve']) => void): string =>
    play((stage) => {
      const send: Rehearsal['reserve'] = (...request) =>
        leg === 'prefill' ? stage.prefill(...request) : stage.reserve(...request)
      use(stage, send)
      return stage.ending()
    })

  const tickets = (): readonly DrillCase[] =>
    (['prefill', 'decode'] as const).flatMap((leg) => [
      drillCase(`a forged ticket in ${leg}`, 'bad_ticket', () =>
        ticketFor(leg, (stage, send) => send(REQUEST, { ...stage.ticket(REQUEST), mac: '0'.repeat(64) })),
      ),
      drillCase(`a placeholder of one token in ${leg}`, 'bad_ticket', () =>
        ticketFor(leg, (stage, send) => send(REQUEST, stage.ticket(REQUEST), stage.ids.subarray(0, 1))),
      ),
      drillCase(`an expired ticket in ${leg}`, 'bad_ticket', () =>
        ticketFor(leg, (stage, send) => send(REQUEST, stage.ticket(REQUEST, stage.ids, 0))),
      ),
    ])

  const reused = (): DrillCase =>
    drillCase('a ticket that was used before', 'bad_ticket', () =>
      play((stage) => {
        stage.reserve(REQUEST)
        stage.abort(REQUEST)
        stage.acknowledge()
        stage.reserve(REQUEST)
        return stage.ending()
      }),
    )

  const onePage = (parcels: readonly Parcel[]): readonly Parcel[] => {
    const { pageSize } = options.worker.shape
    return parcels.flatMap((parcel): Parcel[] => {
      if (parcel.kind === 'page') return parcel.frame.ordinal === 0 ? [parcel] : []
      return [{ ...parcel, frame: { ...parcel.frame, pages: 1, rows: pageSize } }]
    })
  }

  const turnedBit = (parcels: readonly Parcel[]): readonly Parcel[] =>
    parcels.map((parcel): Parcel => {
      if (parcel.kind !== 'page' || parcel.frame.ordinal !== 0) return parcel
      const rows = parcel.rows.slice()
      rows[rows.length - 1]! ^= 1
      return { ...parcel, rows }
    })

  /** Another request's page in this one's frames, as it was sealed: whole, well-formed, and a stranger's. */
  const foreignPage = (parcels: readonly Parcel[]): readonly Parcel[] => {
    const other = new Rehearsal(options)
    other.reserve('another')
    other.prefill('another')
    return parcels.map((parcel, at): Parcel => {
      const strange = other.parcels[at]
      if (parcel.kind !== 'page' || strange?.kind !== 'page') return parcel
      return { kind: 'page', frame: { ...parcel.frame, seal: strange.frame.seal }, rows: strange.rows }
    })
  }

  /** A store is one-sided: what must hold is that its page is nobody else's until the writer has given its word. */
  const fencedWriter = (): readonly DrillCase[] => [
    drillCase('pages of an aborted request whose writer has said nothing', '2 in quarantine', () =>
      play((stage) => {
        stage.reserve(REQUEST)
        stage.abort(REQUEST)
        return `${stage.quarantined()} in quarantine`
      }),
    ),
    drillCase('the same pages after its word', '0 in quarantine', () =>
      play((stage) => {
        stage.reserve(REQUEST)
        stage.abort(REQUEST)
        stage.acknowledge()
        return `${stage.quarantined()} in quarantine`
      }),
    ),
    drillCase('stores into pages that were taken back', '0 stored', () =>
      play((stage) => {
        stage.reserve(REQUEST)
        stage.abort(REQUEST)
        stage.prefill(REQUEST)
        return `${stage.parcels.filter(({ kind }) => kind === 'page').length} stored`
      }),
    ),
  ]

  const drills = [
    () => findingOf('ticket', [honest(), ...tickets(), reused()]),
    () =>
      findingOf('contract', [
        drillCase('one page is sent where two are contracted', 'R4 contract_mismatch', () =>
          delivered(onePage).ending(),
        ),
      ]),
    () =>
      findingOf('closed_lease', [
        drillCase(
          'pages that come in time',
          `${options.worker.shape.pageSize + 1} rows stand`,
          () => `${delivered((parcels) => parcels).standing()} rows stand`,
        ),
        drillCase('pages that come after the abort', '0 rows stand', () => {
          const stage = new Rehearsal(options)
          stage.reserve(REQUEST)
          stage.prefill(REQUEST)
          stage.abort(REQUEST)
          stage.deliver()
          return `${stage.standing()} rows stand`
        }),
        ...(options.worker.transport === 'shared' ? fencedWriter() : []),
      ]),
    () =>
      findingOf('frame_identity', [
        drillCase('a frame that names another request', 'wrong_identity', () =>
          delivered((parcels) => parcels.slice(0, 1).map(misnamed)).violation(),
        ),
      ]),
    () =>
      findingOf('row_identity', [
        drillCase('a row of a batch that names another request', 'R10 kv_integrity', () => {
          const stage = delivered((parcels) => parcels)
          stage.decode((result) => ({
            ...result,
            results: result.results.map((row) => ({ ...row, requestId: 'another' })),
          }))
          return stage.ending()
        }),
      ]),
  ]
  if (integrity === 'tags') return drills
  return [
    ...drills,
    () =>
      findingOf('seal', [
        drillCase('one bit of a page is turned', 'R8 kv_integrity', () => delivered(turnedBit).ending()),
        drillCase("a page of another request's", 'R8 kv_integrity', () => delivered(foreignPage).ending()),
      ]),
  ]
}

const misnamed = (parcel: Parcel): Parcel =>
  parcel.kind === 'page'
    ? { ...parcel, frame: { ...parcel.frame, requestId: 'another' } }
    : { ...parcel, frame: { ...parcel.frame, requestId: 'another' } }
