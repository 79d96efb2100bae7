import type { TicketCheck } from '../../admission/index.ts'
import type { DeclineCode } from '../messages.ts'

/** R13: a book without room for one more ticket is pressure, "not now"; every other objection is to the ticket itself. */
export const declineCode = (check: TicketCheck): DeclineCode =>
  check.kind === 'invalid' && check.reason === 'book_full' ? 'no_room' : 'bad_ticket'
