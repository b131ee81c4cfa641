import type {Command} from 'commander'
import {EXIT} from '../cli/exit-codes.ts'
import {notThere} from '../cli/failure.ts'
import {findConnection} from '../cli/find.ts'
import {waitForJob} from '../cli/job.ts'
import {clean, count, plural} from '../cli/phrases.ts'
import {chooseConnection} from '../cli/plan-import.ts'
import type {Cli} from '../cli/session.ts'
import type {Json} from '../http.ts'

export default (cli: Cli, program: Command) => {
  program
    .command('connections')
    .summary('list connections to CRMs')
    .addHelpText(
      'after',
      '\nExamples:\n  lading connections\n  lading connections --json | jq -r ".connectors[].id"\n\nNext: lading discover',
    )
    .action(async () => {
      const {client, path} = await cli.open()
      const {connectors} = await client.get(path('connectors'))
      const rows = connectors.map((one: Json) => [
        one.id,
        one.name,
        one.kind,
        one.dc,
        one.writesPaused ? 'writes paused' : one.state,
        one.crmUserName,
      ])
      const heads = [{head: 'ID', keep: true}, {head: 'NAME'}, {head: 'KIND'}, {head: 'DC'}, {head: 'STATE'}, {head: 'AS'}]
      cli.out.answer({connectors}, () =>
        rows.length ? cli.out.table(heads, rows) : 'There are no connections yet. An admin can connect a CRM in the browser',
      )
      for (const warning of connectors.flatMap(warningsOf)) cli.out.warn(warning)
    })

  program
    .command('discover')
    .summary("read a CRM's modules and fields")
    .description('Reads the modules and fields of a CRM again and shows what has changed. Requires the admin role.')
    .argument('[connection]', 'name or id, if there are several')
    .option('--latest', 'show the latest discovery without reading again')
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

  program
    .command('doctor')
    .summary('check how a CRM behaves')
    .description(
      'Checks facts that the documents of the CRM leave open, and shows what each result means for imports. It makes about 60 read calls of one API credit each. The connection then follows the results. Requires the admin role. Exits with 8 if the CRM does not behave as expected.',
    )
    .argument('[connection]', 'name or id, if there are several')
    .option('--write', 'also run the writing probes: about 25 calls that create, change and delete test records; sandbox orgs only')
    .option('--latest', 'show the newest report without running the probes')
    .addHelpText('after', '\nExamples:\n  lading doctor\n  lading doctor "Sandbox" --write\n\nNext: lading discover')
    .action((named: string | undefined, options: DoctorOptions) => runDoctor(cli, named, options))
}

type DoctorOptions = {write?: boolean; latest?: boolean}

const runDoctor = async (cli: Cli, named: string | undefined, {write = false, latest = false}: DoctorOptions) => {
  const session = await cli.open()
  const {client, path} = session
  const {id} = named === undefined ? await chooseConnection(session, undefined) : await findConnection(session, named)
  if (!latest) {
    const {job} = await client.post(path(`connectors/${id}/doctor`), {write}, {prefer: 'wait=20'})
    await waitForJob(cli, session, job)
  }
  const {report} = await client.get(path(`connectors/${id}/doctor`))
  if (!report) throw notThere('The doctor has not run on this connection yet', 'Run: lading doctor')
  cli.out.answer({report}, () => describeReport(cli, report))
  if (report.probes.some(({verdict}: Json) => verdict === 'different')) cli.exit(EXIT.different)
}

const describeReport = ({out}: Cli, {ranAt, credits, probes}: Json): string[] => {
  const heads = [{head: 'FACT'}, {head: 'EXPECTED'}, {head: 'SEEN'}, {head: 'VERDICT', keep: true}, {head: 'CONSEQUENCE'}]
  const rows = probes.map(({fact, expected, seen, verdict, consequence}: Json) => [fact, expected, seen, verdict, consequence])
  return [...out.table(heads, rows), ...(out.isTerminal ? ['', `Checked ${out.time(ranAt)} for ${plural(credits, 'API credit')}.`] : [])]
}

/** Describes the limits of the connection's CRM user, one line each. */
const warningsOf = ({name, warnings}: Json): string[] =>
  warnings.map(
    ({message, modules, remedy}: Json) =>
      `${clean(name)}: ${clean(message)}${modules.length ? ` (${clean(modules.join(', '))})` : ''}. ${clean(remedy)}.`,
  )

const describe = ({out}: Cli, {modules, diff, seenAt}: Json): string[] => {
  const rows = modules.map((module: Json) => [module.apiName, module.label, count(module.fields.length), module.kind])
  const changed = ['added', 'removed', 'changed'].flatMap(what =>
    diff?.[what]?.length ? [`${plural(diff[what].length, 'field or module', 'fields or modules')} ${what}`] : [],
  )
  const unread = modules.filter((module: Json) => module.unread)
  return [
    ...out.table([{head: 'MODULE', keep: true}, {head: 'LABEL'}, {head: 'FIELDS', right: true}, {head: 'KIND'}], rows),
    ...(out.isTerminal ? ['', `Read ${out.time(seenAt)}. ${clean(changed.join(', ') || 'No changes since the previous discovery')}.`] : []),
    ...unread.map(({apiName, unread: {message}}: Json) =>
      clean(`The fields of ${apiName} were not read: ${message}. Run lading discover again.`),
    ),
  ]
}
