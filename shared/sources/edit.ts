import {findSource, type Source, updateSource} from '../../sql/sources.ts'
import {Refusal} from '../errors.ts'
import type {Parsing} from '../parsing/pool.ts'
import type {SourceTools} from './add.ts'
import {applyUnread, type ChangedSource, type SourceChanges} from './changes.ts'
import {isShort, type ReadSource} from './describe.ts'
import {assertOpen, findImportSource, lockOpenImport, type OfSource} from './find.ts'

/** Somebody else changing the source while its file is read; then it is read once more. */
const mostReadings = 3

/**
 * Changes what is named. Under another reader or cleaning the file is read anew, to its end, and its evidence replaced; a reading that fails
 * changes nothing. Runs keep what their snapshots froze.
 */
export const editSource = async ({db, parsing}: SourceTools, place: OfSource, changes: SourceChanges): Promise<ReadSource> => {
  for (let reading = 0; reading < mostReadings; reading++) {
    const {source} = await findImportSource(db, place)
    await assertOpen(db, place)
    const {findings, ...changed} = await apply(parsing, place.org, {source, changes})
    const kept = await db.transaction(async tx => {
      const {no} = await lockOpenImport(tx, place)
      const now = await findSource(tx, {importNo: no, id: source.id})
      if (!now) throw new Refusal('SOURCE_NOT_FOUND', 'The import has no such file')
      return now.version === source.version ? updateSource(tx, {importNo: no, id: source.id, ...changed}) : null
    })
    if (kept) return {...kept, findings}
  }
  throw new Refusal('BUSY', 'The source is being changed by somebody else: read it again, then change it', {retryAfterMs: 1_000})
}

/** What takes no time is not queued behind files that are read. */
const apply = (parsing: Parsing, org: string, changing: {source: Source; changes: SourceChanges}): Promise<ChangedSource> | ChangedSource =>
  (isShort(changing.source) && applyUnread(changing)) || parsing.run(org, 'change', changing)
