import type {Command} from 'commander'
import {restate} from '../cli/failure.ts'
import {findRun} from '../cli/find.ts'
import {startRun} from '../cli/run-start.ts'
import type {Cli} from '../cli/session.ts'
import type {Following} from '../cli/watch.ts'
import type {Json} from '../http.ts'
import {watching} from './import.ts'
import {begun} from './run.ts'

type Options = Following & {dryRun?: boolean; forceCreated?: boolean}

export default (cli: Cli, program: Command) => {
  watching(
    program
      .command('undo')
      .summary('undo a run')
      .description(
        'Restores the values that a run replaced, and deletes the records that it created. Values and records that were changed since are kept. To take an undo back, undo it.',
      )
      .argument('<run>', 'id of a run, or of an import (its last run that is no undo)')
      .option('--dry-run', 'write nothing; show what would be undone')
      .option('--force-created', 'also delete created records that were changed since (admins only)'),
  )
    .addHelpText('after', '\nExamples:\n  lading undo run_01k9… --dry-run --watch\n  lading undo run_01k9… --watch')
    .action(async (given: string, {watch, failOn, dryRun, forceCreated}: Options) => {
      const session = await cli.open()
      const undone = await findRun(session, given, ({dryRun, undoOf}: Json) => !dryRun && !undoOf)
      const start = {undoOf: undone.id, ...(dryRun && {dryRun}), ...(forceCreated && {force: 'created' as const})}
      const run = await startRun(session, undone.importId, start).catch(laterFirst)
      await begun(cli, session, run, {watch: Boolean(watch), ...(failOn && {failOn})})
    })
}

const laterFirst = restate('RUN_RETRIED', ({detail}) => ({next: `Undo the later run: lading undo ${(detail as Json).run}`}))
