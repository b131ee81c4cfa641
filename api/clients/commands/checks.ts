import type {Command} from 'commander'
import {EXIT} from '../cli/exit-codes.ts'
import {findImportId} from '../cli/find.ts'
import {waitForJob} from '../cli/job.ts'
import {clean, count, plural} from '../cli/phrases.ts'
import type {Cli, Session} from '../cli/session.ts'
import {wrapLines} from '../cli/wrap.ts'
import {type Json, readPages} from '../http.ts'

export default (cli: Cli, program: Command) => {
  program
    .command('checks')
    .summary('check an import for problems')
    .description('Reads every row as a run would, without calling the CRM. Exits with 2 if rows would fail.')
    .argument('<import>', 'id or name of the import')
    .addHelpText(
      'after',
      '\nExamples:\n  lading import leads.csv -t Leads --no-run\n  lading checks imp_01k9…\n\nNext: fix the problems, or lading run IMPORT --watch',
    )
    .action((id: string) => check(cli, id))
}

const heads = [
  {head: 'SEVERITY'},
  {head: 'ROWS', right: true},
  {head: 'FIRST', right: true},
  {head: 'WHERE'},
  {head: 'MESSAGE'},
  {head: 'FIX'},
]

const check = async (cli: Cli, given: string) => {
  const session = await cli.open()
  const {client, path} = session
  const id = await findImportId(session, given)
  const at = path(`imports/${encodeURIComponent(id)}/checks`)
  const checks = await checkNow(cli, session, at)
  const problems = await Array.fromAsync(readPages(client, at, 'problems', {limit: 500}))
  const rows = problems.map(({severity, count: many, rows: first, module, field, column, message, fix}: Json) => [
    severity,
    many === null ? '' : count(many),
    first?.[0] ?? '',
    [module, field ?? column].filter(part => part).join('.'),
    message,
    fix,
  ])
  if (checks.stale) cli.out.note('The import changed during the check, so this is out of date. Run the command again')
  const errors = problems.filter(({severity}: Json) => severity === 'error').length
  cli.out.answer({checks, problems}, () => [
    ...(cli.out.isTerminal ? problems.flatMap(problem => describe(cli, problem)) : rows.length ? cli.out.table(heads, rows) : []),
    ...(cli.out.isTerminal || rows.length === 0
      ? [`${plural(checks.rows ?? 0, 'row')} read: ${errors ? plural(errors, 'error') : 'no errors'}`]
      : []),
  ])
  if (errors > 0) cli.exit(EXIT.rows)
}

const mostChecks = 3

/** Checks again if the import changed after the check read it: the server answers with the job of a check that is already running. */
const checkNow = async (cli: Cli, session: Session, at: string): Promise<Json> => {
  for (let n = 1; ; n++) {
    await waitForJob(cli, session, (await session.client.post(at)).job)
    const {checks} = await session.client.get(at, {limit: 1})
    if (!checks.stale || n === mostChecks) return checks
  }
}

/** Formats a problem for a terminal as a paragraph, because sentences do not fit into table cells. */
const describe = ({out}: Cli, {severity, count: many, rows, module, field, column, message, fix}: Json): string[] => {
  const colour = severity === 'error' ? 'red' : severity === 'warning' ? 'yellow' : 'dim'
  const where = [module, field ?? column].filter(part => part).join('.')
  const which = many === null ? '' : `, ${plural(many, 'row')}${rows?.length ? `, first row ${rows[0]}` : ''}`
  const said = wrapLines(`  ${clean(message)}\n  Fix: ${clean(fix)}`, out.width())
  return [`${out.style(colour, severity)}  ${clean(where)}${which}`, said]
}
