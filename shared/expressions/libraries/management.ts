import type {Pool} from '../../../sql/database.ts'
import {findLibrary, type LibraryRow, lockLibrary, setManagedBy} from '../../../sql/libraries.ts'
import {countLibraryMove} from '../../../sql/registry.ts'
import {type Author, recordChanges} from '../../configuration/change.ts'
import {holdVersion} from '../../configuration/version.ts'
import {Refusal} from '../../errors.ts'
import {notFound} from './library.ts'

type LibraryMove = {namespace: string; managedBy: 'sdk' | null; libraryId?: string | undefined}

/**
 * Hands a library to the configuration repository or to members. The change publishes nothing and creates no registry version; only the entity
 * tag of `config/resolved` changes. `libraryId`: the id that the caller saw. If another library has the namespace now, the change is refused.
 */
export const moveLibrary = (
  db: Pool,
  author: Author,
  {namespace, managedBy, libraryId}: LibraryMove,
): Promise<{library: LibraryRow; changed: boolean}> =>
  db.transaction(async tx => {
    const {org} = author
    await holdVersion(tx, org)
    const library = await lockLibrary(tx, {org, namespace})
    if (!library) throw notFound()
    if (libraryId !== undefined && libraryId !== library.id)
      throw new Refusal(
        'LIBRARY_REPLACED',
        `${namespace} was removed and published again as another library. Read it again, then repeat the change`,
      )
    if (library.managedBy === managedBy) return {library, changed: false}
    await setManagedBy(tx, {id: library.id, managedBy})
    await countLibraryMove(tx, org)
    const change = {page: 'libraries', subject: 'library.managedBy', target: namespace, before: library.managedBy, after: managedBy}
    await recordChanges(tx, author, [change])
    return {library: (await findLibrary(tx, {org, namespace}))!, changed: true}
  })
