import type {Pool} from '../../../sql/database.ts'
import {findLibrary} from '../../../sql/libraries.ts'
import {assertFeature} from '../../billing/entitlements/features.ts'
import type {Author} from '../../configuration/change.ts'
import {assertLoads} from './check.ts'
import {managerFor, type PublishedLibrary, type Publisher} from './library.ts'
import {publishLoaded} from './publish.ts'

/** `loaded`: checked libraries that will be published. `skipped`: the namespaces of the other libraries, each with a warning. */
type PreparedLibraries = {loaded: PublishedLibrary[]; skipped: string[]; warnings: string[]}

/**
 * Checks a bundle's libraries before anything is written. Throws if a library does not load or an example fails. A library that another
 * publisher manages is skipped with a warning.
 */
export const prepareLibraries = async (db: Pool, author: Author, libraries: PublishedLibrary[]): Promise<PreparedLibraries> => {
  const prepared: PreparedLibraries = {loaded: [], skipped: [], warnings: []}
  if (libraries.length === 0) return prepared
  await assertFeature(db, author.org, 'helper_libraries')
  for (const library of libraries) {
    const {namespace} = library.manifest
    const found = await findLibrary(db, {org: author.org, namespace})
    if (found && found.managedBy !== managerFor(author as Publisher)) {
      const who = found.managedBy === 'sdk' ? 'the configuration repository publishes it' : 'members publish it on its page'
      prepared.skipped.push(namespace)
      prepared.warnings.push(`${namespace} was skipped: ${who}`)
      continue
    }
    await assertLoads(namespace, library)
    prepared.loaded.push(library)
  }
  return prepared
}

/** Publishes each library in a separate transaction. Returns the new registry versions in order; an unchanged library makes none. */
export const publishPrepared = async (db: Pool, author: Author, {loaded}: PreparedLibraries): Promise<number[]> => {
  const made: number[] = []
  for (const library of loaded) {
    const named = {namespace: library.manifest.namespace, condition: null}
    const publication = await publishLoaded(db, author as Publisher, named, {...library, restoredFrom: null})
    if (publication.made !== null) made.push(publication.made)
  }
  return made
}
