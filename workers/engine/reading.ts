import {Refusal} from '../../shared/errors.ts'
import {type Row, readCsv} from '../../shared/imports/csv-file.ts'
import {Reader} from '../../shared/imports/reader.ts'
import {StorageMissing} from '../../shared/storage.ts'
import type {Context} from './context.ts'
import {RunStopped} from './ending.ts'
import type {Track} from './row.ts'

/** The source's rows as the snapshot's reader reads them, in chunks. A file that cannot be read any more stops the run and says why. */
export async function* readChunks({storage}: Context, {source}: Track): AsyncGenerator<Row[]> {
  try {
    yield* readCsv(await storage.read(source.fileKey), Reader.parse(source.reader))
  } catch (error) {
    if (error instanceof Refusal) throw new RunStopped({stopped: error.code, message: error.message})
    if (error instanceof StorageMissing)
      throw new RunStopped({stopped: 'FILE_GONE', message: 'The file is no longer in storage. Upload it again'})
    throw error
  }
}
