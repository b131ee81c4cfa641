import {Refusal} from '../../../shared/errors.ts'
import type {FileRow} from '../../../shared/files/row.ts'
import {type FileDeps, openFile} from '../../../shared/files/stored-file.ts'
import {StorageMissing} from '../../../shared/storage/storage.ts'
import type {CompiledFlow} from '../model.ts'

import {pauseIfStorageFailed, RunPaused, RunStopped} from '../run-endings.ts'

/**
 * Yields the source's rows in chunks, with the snapshot's reader and cleaning. Starts at the first row, because cleaning depends on the
 * rows above. A file that cannot be read stops or pauses the run.
 */
export async function* readChunks(deps: FileDeps, {source}: Pick<CompiledFlow, 'source'>): AsyncGenerator<FileRow[]> {
  try {
    yield* (await openFile(deps, source)).rows
  } catch (error) {
    // Thrown by a cleaning step that evaluates an expression.
    if (error instanceof Refusal && error.code === 'SANDBOX_UNAVAILABLE') throw new RunPaused(error.code, error.message, 30)
    if (error instanceof Refusal) throw new RunStopped({stopped: error.code, message: error.message})
    if (error instanceof StorageMissing)
      throw new RunStopped({
        stopped: 'FILE_GONE',
        message: 'The file is no longer in storage. Import the rows that are not written yet as a new file',
      })
    pauseIfStorageFailed(error)
  }
}
