import {type Command, Option} from 'commander'
import {FAIL_ON} from '../cli/ending.ts'
import {rowRange, wholeNumber} from '../cli/options.ts'
import {type Asked, prepareImport} from '../cli/prepare.ts'
import {startRun} from '../cli/run-start.ts'
import type {Cli} from '../cli/session.ts'
import {type Following, isWatched, watchToEnd} from '../cli/watch.ts'
import {clean, plural} from '../cli/words.ts'

type Options = Omit<Asked, 'files'> & Following & {run: boolean}

export default (cli: Cli, program: Command) => {
  const command = program
    .command('import')
    .summary('import files into the CRM')
    .description('Sends files, says what is to be done with their rows, and runs that.')
    .argument('<file...>', 'a CSV or XLSX file, SLOT=FILE where a template takes several, - for the standard input')
    .option('-t, --template <name>', 'what is to be done, as a template of the org has it: name or id')
    .option('--flow <file>', 'what is to be done, as JSON: flows, each with its module and fields')
    .option('-c, --connection <name>', 'the CRM to write to, where there are several: name or id')
    .option('--name <name>', 'what the import is called (default: its files)')
    .option('--encoding <name>', 'the encoding of the CSV files, such as windows-1252, shift_jis or gb18030')
    .option('--accept-bad-bytes', 'import bytes that are not in the encoding as \ufffd')
    .option('--dry-run', 'write nothing; say row by row what would be written')
    .option('--declared-rows <n>', 'stop after so many rows', wholeNumber)
    .option('--rows <range>', 'only rows with these numbers: 1-100, 500-, 7', rowRange)
    .option('--no-run', 'only send the files; lading run begins it later')
    .option('--resume', 'only carry on what was interrupted, or fail')
    .option('--fresh', 'begin anew, though an import of these files was interrupted')
  return watching(command)
    .addHelpText('after', IMPORT_HELP)
    .action(async (files: string[], options: Options) => {
      const session = await cli.open()
      const {importId, sources, run: begun, forget} = await prepareImport(cli, session, {...options, files, streams: isWatched(options)})
      const sent = {import: importId, sources: sources.map(({id, name, rows}) => ({id, name, rows}))}
      if (!options.run && !begun) {
        await forget()
        return cli.out.answer(sent, [`${importId} is ready`, `Next: lading checks ${importId}, lading run ${importId} --watch`])
      }
      const {declaredRows, dryRun = false, rows} = options
      const run = begun ?? (await startRun(session, importId, {dryRun, ...(declaredRows && {declaredRows}), ...(rows && {rows})}))
      const what = `${dryRun ? 'Dry run' : 'Run'} ${run.id} of ${importId}`
      if (isWatched(options)) {
        cli.out.event({event: 'run', import: importId, run}, what)
        await watchToEnd(cli, session, run, options.failOn)
        return forget()
      }
      await forget()
      const rowsThere = sources.reduce((sum, source) => sum + source.rows, 0)
      const names = clean(sources.map(({name}) => name).join(', '))
      cli.out.answer({...sent, run}, [`${what} has begun: ${plural(rowsThere, 'row')} of ${names}`, `Next: lading watch ${run.id}`])
    })
}

/** The options of whatever begins a run. */
export const watching = (command: Command) => command.option('-w, --watch', 'follow the run to its end').addOption(failOn('; watches too'))

export const failOn = (more = '') =>
  new Option('--fail-on <rows>', `which rows that were not written make it end with 2${more} (default: refused)`).choices(FAIL_ON)

const IMPORT_HELP = `
Files are sent in parts. When that or the watching is interrupted, the same command goes on where it
broke off, with the same import and run; --fresh imports them a second time.
With --watch it ends with what became of the rows: 0 all written, 2 some not, 3 stopped.
--fail-on refused counts rows that were refused, failed or never answered; skipped also those
passed over or waiting for a decision; never counts none, and only a stop is not 0.
With --watch --json every line is an event: source, run, state, progress, end with the exit code.

Examples:
  lading import leads.csv --template "Leads of the month" --watch
  lading import leads.csv --template Leads --dry-run --watch   # look first
  lading import orders=o.csv lines=l.csv --template Orders     # several files
  zcat leads.csv.gz | lading import - --template Leads --fail-on skipped
  lading import leads.csv --flow flow.json --connection "Main CRM"

Next: lading results RUN, lading results RUN --failed, lading retry RUN`
