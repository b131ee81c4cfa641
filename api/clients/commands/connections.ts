import type {Command} from 'commander'
import {findConnection} from '../cli/find.ts'
import {waitForJob} from '../cli/job.ts'
import {chooseConnection} from '../cli/prepare.ts'
import type {Cli} from '../cli/session.ts'
import {clean, count, plural} from '../cli/words.ts'
import type {Json} from '../http.ts'

export default (cli: Cli, program: Command) => {
  program
    .command('connections')
    .summary('list the CRMs the org is connected to')
    .addHelpText(
      'after',
      '\nExamples:\n  lading connections\n  lading connections --json | jq -r ".connectors[].id"\n\nNext: lading discover',
    )
    .action(async () => {
      const {client, path} = await cli.open()
      const {connectors} = await client.get(path('connectors'))
      const rows = connectors.map((one: Json) => [
        ...[one.id, one.name, one.kind, one.dc, one.writesPaused ? 'writes paused' : one.state, one.crmUserName],
      ])
      const heads = [{head: 'ID', keep: true}, {head: 'NAME'}, {head: 'KIND'}, {head: 'DC'}, {head: 'STATE'}, {head: 'AS'}]
      cli.out.answer({connectors}, () =>
        rows.length ? cli.out.table(heads, rows) : 'The org is connected to no CRM yet: an administrator connects one in the browser',
      )
    })

  program
    .command('discover')
    .summary("read a CRM's modules and fields")
    .description('Has the modules and fields of a CRM read again, waits for it, and says what has changed. Administrators may.')
    .argument('[connection]', 'name or id, where there are several')
    .option('--latest', 'only show what was read last')
    .addHelpText(
      'after',
      '\nExamples:\n  lading discover\n  lading discover "Main CRM" --json | jq ".discovery.diff"\n\nNext: lading templates check NAME',
    )
    .action(async (named: string | undefined, {latest}: {latest?: boolean}) => {
      const session = await cli.open()
      const {client, path} = session
      const {id} = named === undefined ? await chooseConnection(session, undefined) : await findConnection(session, named)
      if (!latest) {
        const {job} = await client.post(path('discovery/run'), {connectorId: id}, {prefer: 'wait=20'})
        await waitForJob(cli, session, job)
      }
      const {discovery} = await client.get(path('discovery/latest'), {connector: id})
      cli.out.answer({discovery}, () => describe(cli, discovery))
    })
}

const describe = ({out}: Cli, {modules, diff, seenAt}: Json): string[] => {
  const rows = modules.map((module: Json) => [module.apiName, module.label, count(module.fields.length), module.kind])
  const changed = ['added', 'removed', 'changed'].flatMap(what =>
    diff?.[what]?.length ? [`${plural(diff[what].length, 'field or module', 'fields or modules')} ${what}`] : [],
  )
  return [
    ...out.table([{head: 'MODULE', keep: true}, {head: 'LABEL'}, {head: 'FIELDS', right: true}, {head: 'KIND'}], rows),
    ...(out.isTerminal
      ? ['', `Read ${out.time(seenAt)}. ${clean(changed.join(', ') || 'Nothing has changed since the time before')}.`]
      : []),
  ]
}
