/**
 * What stands between a peer on the transfer channel and decode's pages (R10): proof, tags, numbers, bounds, TLS. That a
 * certificate is not believed is said twice, to TLS and in `judge`: either alone holds, so neither is a mutant.
 */
const protocol = 'src/runtime/transfer/protocol.ts'
const session = 'src/runtime/transfer/session.ts'
const handshake = 'src/runtime/transfer/handshake.ts'
const parser = 'src/runtime/transfer/parser.ts'
const endpoint = 'src/runtime/transfer/endpoint.ts'
const channel = 'src/runtime/transfer/channel.ts'
const tls = 'src/runtime/transfer/tls.ts'

/** @type {readonly import('./index.js').Mutant[]} */
export const wire = [
  {
    id: 'R10-wire-proof-unchecked',
    rule: 'R10',
    file: protocol,
    find: "if (proof === null || !digests.equal(proof, this.#proofOf(own.role === 'prefill' ? 'decode' : 'prefill'))) {",
    replace: 'if (proof === null || proof.length !== this.#proofOf(own.role).length) {',
    why: 'whoever reaches the socket joins, without the key',
  },
  {
    id: 'R10-wire-tag-unchecked',
    rule: 'R10',
    file: session,
    find: "if (!digests.equal(tag, frame.tag)) return 'bad_tag'",
    replace: "if (tag.length !== frame.tag.length) return 'bad_tag'",
    why: 'a header changed on its way names another request, page or layer',
  },
  {
    id: 'R10-wire-number-unchecked',
    rule: 'R10',
    file: session,
    find: "if (frame.sequence !== sequence + 1) return 'out_of_order'",
    replace: '',
    why: 'a recorded frame is taken again, and a missing one is not missed',
  },
  {
    id: 'R10-wire-payload-length',
    rule: 'R10',
    file: protocol,
    find: "if (!fits) return 'wrong_payload_length'",
    replace: '',
    why: 'rows that are not there, or more than were said, are placed',
  },
  {
    id: 'R10-wire-other-weights',
    rule: 'R10',
    file: handshake,
    find: "if (weights !== own.weights) return 'wrong_weights'",
    replace: '',
    why: 'KV computed from other weights is decoded',
  },
  {
    id: 'R10-wire-other-shape',
    rule: 'R10',
    file: handshake,
    find: "if (!same) return 'wrong_shape'",
    replace: '',
    why: 'pages of another layout are read as if they were of this one',
  },
  {
    id: 'R10-wire-length-unbounded',
    rule: 'R10',
    file: parser,
    find: "else if (length > this.#longest) this.#violation = 'frame_too_long'",
    replace: '',
    why: 'a hostile length runs over the end of the frame under way',
  },
  {
    id: 'R10-wire-violation-forgotten',
    rule: 'R10',
    file: protocol,
    find: "if (this.#violation !== null) this.#phase = 'over'\n",
    replace: '',
    why: 'after a frame that was refused the next one is taken',
  },
  {
    id: 'R10-wire-no-time-limit',
    rule: 'R10',
    file: endpoint,
    find: "const timer = setTimeout(() => end('handshake_timeout'), options.handshakeMs ?? 2_000)",
    replace: 'const timer = setTimeout(() => undefined, options.handshakeMs ?? 2_000)',
    why: 'peers that say nothing stay for ever',
  },
  {
    id: 'R10-wire-strangers-unbounded',
    rule: 'R10',
    file: endpoint,
    find: 'strangers.size >= STRANGERS',
    replace: 'strangers.size >= 64 * STRANGERS',
    why: 'peers that prove nothing fill the process',
  },
  {
    id: 'R10-tcp-in-the-clear',
    rule: 'R10',
    file: channel,
    find: "channel.kind === 'socket' ? (raw, open) => open(raw) : acceptTls(channel.key)",
    replace: "channel.kind.length > 0 ? (raw, open) => open(raw) : acceptTls(new Uint8Array(32))",
    why: 'the link is spoken in the clear on a port that every user of the machine can reach',
  },
  {
    id: 'R10-tcp-everywhere',
    rule: 'R10',
    file: channel,
    find: 'else server.listen({ host: LOOPBACK, port: 0 }, listening)',
    replace: 'else server.listen({ port: 0 }, listening)',
    why: 'other machines can reach the port',
  },
  {
    id: 'R10-tcp-any-key-name',
    rule: 'R10',
    file: tls,
    find: '(identity === IDENTITY ? Buffer.from(key) : null)',
    replace: '(identity.length > 0 ? Buffer.from(key) : null)',
    why: 'terms that are not these are spoken under the same key',
  },
  {
    id: 'R10-tcp-broken-record-unseen',
    rule: 'R10',
    file: endpoint,
    find: "if (error.code?.startsWith('ERR_SSL_')) end('tls_refused')",
    replace: '',
    why: 'somebody who changes bytes on the way is taken for a lost connection',
  },
]
