import {Refusal} from '../../shared/errors.ts'
import type {Row} from '../../shared/imports/row.ts'
import {type FilePlace, openFile} from '../../shared/imports/stored-file.ts'
import {StorageMissing} from '../../shared/storage.ts'
import {StorageFailed} from '../../shared/storage-failed.ts'
import {RunPaused, RunStopped} from './ending.ts'
import type {Track} from './row.ts'

/**
 * The source's rows as the snapshot's reader and cleaning give them, in chunks, from the first on: cleaning remembers rows above.
 * A file that cannot be read any more stops the run and says why.
 */
export async function* readChunks(place: FilePlace, {source}: Pick<Track, 'source'>): AsyncGenerator<Row[]> {
  try {
    yield* (await openFile(place, source)).rows
  } catch (error) {
    // Of a cleaning that strikes by an expression.
    if (error instanceof Refusal && error.code === 'SANDBOX_UNAVAILABLE') throw new RunPaused(error.code, error.message, 30)
    if (error instanceof Refusal) throw new RunStopped({stopped: error.code, message: error.message})
    if (error instanceof StorageMissing)
      throw new RunStopped({stopped: 'FILE_GONE', message: 'The file is no longer in storage. Upload it again'})
    if (error instanceof StorageFailed)
      throw new RunPaused('UNAVAILABLE', 'The file cannot be read just now: where files are kept is away. The run goes on by itself', 30)
    throw error
  }
}
