import type {Pool} from '../../sql/database.ts'
import {findLibrary, type LibraryRow, lockLibrary, setManagedBy} from '../../sql/libraries.ts'
import {countLibraryMove} from '../../sql/registry.ts'
import {Refusal} from '../errors.ts'
import {type Author, recordChanges} from '../registry/change.ts'
import {holdVersion} from '../registry/version.ts'
import {notFound} from './library.ts'

type Move = {namespace: string; managedBy: 'sdk' | null; libraryId?: string | undefined}

/**
 * Hands a library to the configuration repository, or to people. Nothing is published and no registry version is made; only the entity tag of
 * `config/resolved` changes. `libraryId`: the library as its page read it. The name may belong to another library by now.
 */
export const moveLibrary = (
  db: Pool,
  author: Author,
  {namespace, managedBy, libraryId}: Move,
): Promise<{library: LibraryRow; changed: boolean}> =>
  db.transaction(async tx => {
    const {org} = author
    await holdVersion(tx, org)
    const library = await lockLibrary(tx, {org, namespace})
    if (!library) throw notFound()
    if (libraryId !== undefined && libraryId !== library.id)
      throw new Refusal('LIBRARY_REPLACED', `${namespace} was removed and published again, and is another library now: look at it first`)
    if (library.managedBy === managedBy) return {library, changed: false}
    await setManagedBy(tx, {id: library.id, managedBy})
    await countLibraryMove(tx, org)
    const change = {page: 'libraries', subject: 'library.managedBy', target: namespace, before: library.managedBy, after: managedBy}
    await recordChanges(tx, author, [change])
    return {library: (await findLibrary(tx, {org, namespace}))!, changed: true}
  })
