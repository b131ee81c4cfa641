import {type Command, Option} from 'commander'
import {sendCorrection} from '../cli/correction.ts'
import {usage} from '../cli/failure.ts'
import {findImportId, findRun, followCommand} from '../cli/find.ts'
import {rowRange, wholeNumber} from '../cli/options.ts'
import {startRun} from '../cli/run-start.ts'
import type {Cli} from '../cli/session.ts'
import {type Following, isWatched, watchToEnd} from '../cli/watch.ts'
import type {Json} from '../http.ts'
import {failOn, type Route, routeOption, type Verify, verifyOption, type WriteRoute, watching, writeOption} from './import.ts'

type Options = Following & {
  dryRun?: boolean
  corrected?: string
  source?: string
  declaredRows?: number
  confirmDeletes?: number
  rows?: {from?: number; to?: number}
  route?: Route
  verify?: Verify
  write?: WriteRoute
}

export default (cli: Cli, program: Command) => {
  watching(
    program
      .command('run')
      .summary('run an uploaded import')
      .description('Starts a run of an import whose files are already uploaded, for example after a dry run.')
      .argument('<import>', 'id or name of the import')
      .option('--dry-run', 'write nothing; show what would be written for each row')
      .option('--declared-rows <n>', 'stop after this many rows', wholeNumber)
      .addOption(confirmDeletes())
      .option('--rows <range>', 'only these rows: 1-100, 500-, 7', rowRange)
      .addOption(routeOption())
      .addOption(verifyOption())
      .addOption(writeOption()),
  )
    .addHelpText(
      'after',
      '\nExamples:\n  lading run imp_01k9… --rows 1-100 --watch   # the first 100 rows\n  lading run imp_01k9… --watch\n  lading run imp_01k9… --confirm-deletes 418 --watch   # flows that delete, after a dry run',
    )
    .action(async (importId: string, {watch, failOn, route, ...start}: Options) => {
      const session = await cli.open()
      const run = await startRun(session, await findImportId(session, importId), {...start, ...(route && {match: route})})
      await begun(cli, session, run, {
        watch: Boolean(watch),
        ...(failOn && {failOn}),
      })
    })

  addRetry(cli, program)
  addFollowing(cli, program)
}

const addRetry = (cli: Cli, program: Command) => {
  watching(
    program
      .command('retry')
      .summary('retry an ended run')
      .description('Writes the rows that an ended run did not. Rows already written are not written again.')
      .argument('<run>', 'id of a run, or id or name of an import (its last run)')
      .option('--corrected <file>', 'first send the corrected failed.csv of the run, or the whole corrected file; - for standard input')
      .option('--source <id>', 'with --corrected: the file, by source id, if the run has several and the file is not its failed.csv')
      .option('--dry-run', 'write nothing; show what the retry would do')
      .option('--declared-rows <n>', 'stop after this many rows', wholeNumber)
      .addOption(confirmDeletes())
      .addOption(verifyOption()),
  )
    .addHelpText(
      'after',
      '\nExamples:\n  lading retry run_01k9… --watch\n  lading retry imp_01k9… --watch --fail-on never\n  lading retry run_01k9… --corrected failed.csv --watch',
    )
    .action(async (given: string, {watch, failOn, corrected, source, ...start}: Options) => {
      if (source !== undefined && corrected === undefined) throw usage('Use --source only with --corrected')
      const session = await cli.open()
      const before = await findRun(session, given, ({dryRun}: Json) => !dryRun)
      const following = {watch: Boolean(watch), ...(failOn && {failOn})}
      if (corrected !== undefined) {
        const said = await sendCorrection(cli, session, before, {file: corrected, source})
        if (isWatched(following)) cli.out.event({event: 'corrected', run: before.id}, said)
        else cli.out.lines(said)
      }
      const run = await startRun(session, before.importId, {retryOf: before.id, ...start, signal: cli.interrupt()})
      await begun(cli, session, run, following)
    })
}

export const confirmDeletes = () =>
  new Option('--confirm-deletes <n>', 'delete this many records: the number that the dry run shows').argParser(wholeNumber)

const addFollowing = (cli: Cli, program: Command) => {
  program
    .command('watch')
    .summary('follow a run to its end')
    .argument('<run>', 'id of a run, or id or name of an import (its last run)')
    .addOption(failOn())
    .addHelpText(
      'after',
      '\nCtrl-C stops watching; the run continues. Exits with 0, 2 or 3, as `lading import --watch` does.\n\nExample:\n  lading watch run_01k9…',
    )
    .action(async (given: string, {failOn}: Options) => {
      const session = await cli.open()
      await watchToEnd(cli, session, await findRun(session, given), failOn)
    })

  program
    .command('resume')
    .summary('resume a run that its guard holds')
    .description('Continues the run. Its guard starts to count again from here.')
    .argument('<run>', 'id of a run, or id or name of an import (its active run)')
    .addHelpText('after', '\nExample:\n  lading resume run_01k9…\n\nNext: lading watch RUN')
    .action(async (given: string) => {
      const {client, path, ...session} = await cli.open()
      const found = await findRun({client, path, ...session}, given, ({state}: Json) => state !== 'ended')
      const {run} = await client.post(path(`imports/${found.importId}/runs/${encodeURIComponent(found.id)}/resume`))
      cli.out.answer({run}, [`Resumed ${run.id}`, `Next: lading watch ${run.id}`])
    })

  program
    .command('cancel')
    .summary('cancel a run')
    .description('Stops the run. Batches in flight are settled first, and written rows stay.')
    .argument('<run>', 'id of a run, or id or name of an import (its active run)')
    .addHelpText(
      'after',
      '\nExample:\n  lading cancel run_01k9… && lading watch run_01k9…   # wait until it has ended\n\nNext: lading retry RUN',
    )
    .action(async (given: string) => {
      const {client, path, ...session} = await cli.open()
      const found = await findRun({client, path, ...session}, given, ({state}: Json) => state !== 'ended')
      const {run} = await client.post(path(`runs/${encodeURIComponent(found.id)}/cancel`))
      const said = found.state === 'ended' ? `${run.id} had already ended` : `Cancelling ${run.id}`
      cli.out.answer({run}, [said, `Next: ${followCommand(run)}`])
    })
}

export const begun = async (cli: Cli, session: Awaited<ReturnType<Cli['open']>>, run: Json, following: Following) => {
  const kind = run.undoOf ? 'Undo' : run.dryRun ? 'Dry run' : 'Run'
  if (!isWatched(following)) return cli.out.answer({run}, [`${kind} ${run.id} started`, `Next: lading watch ${run.id}`])
  cli.out.event({event: 'run', import: run.importId, run}, `${kind} ${run.id} of ${run.importId}`)
  await watchToEnd(cli, session, run, following.failOn)
}
