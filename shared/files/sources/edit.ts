import type {Tx} from '../../../sql/database.ts'
import {findSource, type Source, updateSource} from '../../../sql/sources.ts'
import {Refusal} from '../../errors.ts'
import {assertNotCorrection} from '../../runs/corrections/origin.ts'
import type {Parsing} from '../parser/pool.ts'
import type {SourceDeps} from './add.ts'
import {applyUnread, type ChangedSource, type SourceChanges} from './changes.ts'
import {isShort, type ReadSource} from './describe.ts'
import {assertOpen, findImportSource, lockOpenImport, type OfSource} from './find.ts'

/** The maximum number of attempts of a change, which is applied again if another request changed the source meanwhile. */
const mostReadings = 3

/**
 * The state on which changes are based. `version`: the version of the source. `assertCurrent`: throws if the changes are outdated; called with the
 * import locked.
 */
type EditBase = {version: number; assertCurrent(tx: Tx): Promise<void>}

/**
 * If the reader, the cleaning or the reading of numbers changes, the file is read again and the evidence is replaced. If this read fails, the source
 * stays unchanged. Runs keep their snapshots. With a `base`, refuses the changes if the source is of another version.
 */
export const editSource = async (
  {db, parsing}: SourceDeps,
  place: OfSource,
  changes: SourceChanges,
  base: EditBase | null = null,
): Promise<ReadSource> => {
  for (let reading = 0; reading < mostReadings; reading++) {
    const {source} = await findImportSource(db, place)
    if (base && source.version !== base.version) break
    await assertOpen(db, place)
    const {findings, corrects, ...changed} = await apply(parsing, place.org, {source, changes})
    const kept = await db.transaction(async tx => {
      const {no} = await lockOpenImport(tx, place)
      const now = await findSource(tx, {importNo: no, id: source.id})
      if (!now) throw new Refusal('SOURCE_NOT_FOUND', 'The import has no such file')
      await base?.assertCurrent(tx)
      if (corrects) await assertNotCorrection(tx, place.org, corrects)
      return now.version === source.version ? updateSource(tx, {importNo: no, id: source.id, ...changed}) : null
    })
    if (kept) return {...kept, findings}
  }
  throw new Refusal('BUSY', 'Another request is changing the source. Read the source again, then repeat the change', {retryAfterMs: 1_000})
}

/** If the evidence is short and the file need not be read, this thread applies the changes, without waiting in the parser queue. */
const apply = (parsing: Parsing, org: string, changing: {source: Source; changes: SourceChanges}): Promise<ChangedSource> | ChangedSource =>
  (isShort(changing.source) && applyUnread(changing)) || parsing.run(org, 'change', changing)
