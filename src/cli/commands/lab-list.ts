import { faults, renderList } from '../../lab/index.ts'
import { type Command, noOperands } from '../command.ts'

export const labList: Command = {
  name: 'lab list',
  summary: 'the fault catalogue: what goes wrong, what harm it does, and which rules stop it',
  options: { json: { type: 'boolean', help: 'the catalogue as JSON' } },
  examples: ['bulkhead lab list', 'bulkhead lab list --json'],
  run: async (input) => {
    noOperands(labList, input)
    const entries = faults.map(({ name, class: of, harm, reports, rules, summary }) => ({
      fault: name,
      class: of,
      harm,
      rules,
      reports,
      summary,
    }))
    input.out(input.flags.json === true ? `${JSON.stringify(entries)}\n` : renderList())
    return 0
  },
}
