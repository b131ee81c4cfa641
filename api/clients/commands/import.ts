import {type Command, Option} from 'commander'
import {DATE_ORDERS} from '../cli/date-orders.ts'
import {FAIL_ON} from '../cli/ending.ts'
import {usage} from '../cli/failure.ts'
import {forecastRun} from '../cli/forecast.ts'
import {rowRange, wholeNumber} from '../cli/options.ts'
import {clean, plural} from '../cli/phrases.ts'
import {type PrepareInput, prepareImport} from '../cli/prepare-import.ts'
import {startRun} from '../cli/run-start.ts'
import type {Cli} from '../cli/session.ts'
import {type Following, isWatched, watchToEnd} from '../cli/watch.ts'

type Options = Omit<PrepareInput, 'files'> &
  Following & {run: boolean; forecast?: boolean; route?: Route; verify?: Verify; write?: WriteRoute}

export default (cli: Cli, program: Command) => {
  const command = mapping(
    program
      .command('import')
      .summary('import files into the CRM')
      .description(
        'Uploads files, maps their columns, and starts a run. The columns are matched automatically, or mapped by a template or flows.',
      ),
  )
    .option('--dry-run', 'write nothing; show what would be written for each row')
    .option('--forecast', 'start nothing; show the CRM credits and the time that a run would take')
    .option('--declared-rows <n>', 'stop after this many rows', wholeNumber)
    .option('--rows <range>', 'only these rows: 1-100, 500-, 7', rowRange)
    .addOption(routeOption())
    .addOption(verifyOption())
    .addOption(writeOption())
    .option('--no-run', 'only upload the files; start later with lading run')
  return watching(command)
    .addHelpText('after', IMPORT_HELP)
    .action((files: string[], options: Options) => importFiles(cli, files, options))
}

export const mapping = (command: Command) =>
  command
    .argument('<file...>', 'a CSV, XLSX, ODS or JSON file, SLOT=FILE if the template takes several, - for standard input')
    .option('-m, --module <name>', 'match the columns with this module: API name or label')
    .addOption(matchOption())
    .addOption(existingOption())
    .addOption(datesOption())
    .option('-y, --yes', 'accept the recommended match and start without asking')
    .option('-t, --template <name>', 'template to use: name or id')
    .option('--flow <file>', 'JSON file with flows, each with its module and fields')
    .option('-c, --connection <name>', 'connection to write to, if there are several: name or id')
    .option('--name <name>', 'name of the import (default: its files)')
    .option('--encoding <name>', 'the encoding of the CSV files, such as windows-1252, shift_jis or gb18030')
    .option('--accept-bad-bytes', 'import bytes that are not in the encoding as \ufffd')
    .option('--resume', 'resume an interrupted import, or fail if there is none')
    .option('--fresh', 'start a new import even if one of these files was interrupted')

const importFiles = async (cli: Cli, files: string[], options: Options) => {
  const session = await cli.open()
  const {importId, sources, run: begun, forget} = await prepareImport(cli, session, {...options, files, streams: isWatched(options)})
  const sent = {import: importId, sources: sources.map(({id, name, rows}) => ({id, name, rows}))}
  // The stored state stays, because without it the next command would import the files a second time.
  if (begun && (options.forecast || !options.run))
    throw usage(
      `Run ${begun.id} of ${importId} already imports these files`,
      `Watch it with lading watch ${begun.id}, or add --fresh to start anew`,
    )
  if (options.forecast) {
    await forget()
    const {forecast, lines} = await forecastRun(cli, session, importId)
    return cli.out.answer({...sent, forecast}, [...lines, `Next: lading run ${importId} --watch`])
  }
  if (!options.run) {
    await forget()
    return cli.out.answer(sent, [`${importId} is ready`, `Next: lading checks ${importId}, lading run ${importId} --watch`])
  }
  const {declaredRows, dryRun = false, rows, route, write} = options
  const run =
    begun ??
    (await startRun(session, importId, {
      dryRun,
      ...(declaredRows && {declaredRows}),
      ...(rows && {rows}),
      ...(route && {match: route}),
      ...(options.verify && {verify: options.verify}),
      ...(write && {write}),
      signal: cli.interrupt(),
    }))
  const what = `${dryRun ? 'Dry run' : 'Run'} ${run.id} of ${importId}`
  if (isWatched(options)) {
    cli.out.event({event: 'run', import: importId, run}, what)
    await watchToEnd(cli, session, run, options.failOn)
    return forget()
  }
  await forget()
  const rowsThere = sources.reduce((sum, source) => sum + source.rows, 0)
  const names = clean(sources.map(({name}) => name).join(', '))
  cli.out.answer({...sent, run}, [`${what} started: ${plural(rowsThere, 'row')} of ${names}`, `Next: lading watch ${run.id}`])
}

export type Route = 'query' | 'snapshot' | 'auto'

export const routeOption = () =>
  new Option('--route <how>', 'find records by queries, in one export, or the cheaper way').choices(['query', 'snapshot', 'auto'])

export type Verify = 'off' | 'sample' | 'all'

export const verifyOption = () =>
  new Option('--verify <rows>', 'read written records back: none, the first rows and one in twenty, or all').choices([
    'off',
    'sample',
    'all',
  ])

export type WriteRoute = 'records' | 'bulk' | 'auto'

export const writeOption = () =>
  new Option('--write <how>', 'write by record calls, by bulk jobs of the CRM, or the cheaper way').choices(['records', 'bulk', 'auto'])

export const matchOption = () =>
  new Option('--match <fields>', 'update records with equal values in these fields; none: every row creates a record')

export const existingOption = () =>
  new Option('--existing <how>', 'what happens to a matched record (default: update)').choices(['update', 'skip'])

export const datesOption = () =>
  new Option('--dates <order>', 'how dates are written whose order the file does not show').choices(DATE_ORDERS)

export const watching = (command: Command) =>
  command.option('-w, --watch', 'follow the run to its end').addOption(failOn('; implies --watch'))

export const failOn = (more = '') =>
  new Option('--fail-on <rows>', `exit with 2 if such rows were not written${more} (default: refused)`).choices(FAIL_ON)

const IMPORT_HELP = `
Files are uploaded in parts. After an interruption, run the same command again to resume the same
import and run; --fresh imports the files a second time.
With --watch, the exit code shows the result: 0 all rows written, 2 some not, 3 stopped.
--fail-on refused counts refused, failed and unanswered rows; skipped also counts skipped rows and
rows with open questions, but not rows that change nothing or that people changed in the CRM;
never counts none, so that only a stop is not 0.
With --watch --json, every line is an event: source, run, state, progress, end with the exit code.

With --module, each column goes into the field that fits best, if the match is 80 % sure or more.
In a terminal, the command asks what the options leave open. Elsewhere it fails, naming the option.
--flow is checked against the CRM before anything is uploaded; lading map FILE writes such a file.

Examples:
  lading import leads.csv --module Leads --match Email --watch
  lading import leads.csv --template "Leads of the month" --watch
  lading import leads.csv --template Leads --dry-run --watch   # preview first
  lading import orders=o.csv lines=l.csv --template Orders     # several files
  zcat leads.csv.gz | lading import - --template Leads --fail-on skipped
  lading import leads.csv --flow flow.json --connection "Main CRM"

Next: lading results RUN, lading results RUN --failed, lading retry RUN`
