import type {Command} from 'commander'
import {count} from '../cli/phrases.ts'
import type {Cli} from '../cli/session.ts'
import type {Json} from '../http.ts'

export default (cli: Cli, program: Command) => {
  program
    .command('usage')
    .summary('show the usage of the plan')
    .addHelpText('after', '\nExamples:\n  lading usage\n  lading usage --json | jq .usage.rows.remaining')
    .action(async () => {
      const {client} = await cli.open()
      const me = await client.get('/entitlements/me')
      const {plan, status, usage, credits, period} = me
      const row = (what: string, {used, reserved = 0, limit}: Json) => [
        what,
        count(used),
        reserved ? count(reserved) : '',
        limit === null ? 'no limit' : count(limit),
      ]
      const rows = [row('rows', usage.rows), row('modules', usage.modules), row('schedules', usage.schedules)]
      const heads = [{head: 'ITEM'}, {head: 'USED', right: true}, {head: 'RESERVED', right: true}, {head: 'LIMIT', right: true}]
      cli.out.answer(me, () => [
        `${plan.name}, ${status}; ${cli.out.time(period.start)} to ${cli.out.time(period.end)}`,
        ...cli.out.table(heads, rows),
        `AI credits left: ${credits.available}`,
      ])
    })
}
