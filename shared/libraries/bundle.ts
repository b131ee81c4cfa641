import type {Pool} from '../../sql/database.ts'
import {findLibrary} from '../../sql/libraries.ts'
import {assertFeature} from '../entitlements/features.ts'
import type {Author} from '../registry/change.ts'
import {assertLoads} from './check.ts'
import {managerFor, type PublishedLibrary, type Publisher} from './library.ts'
import {publishLoaded} from './publish.ts'

/** The libraries of a bundle to publish, the namespaces of those that are not, and a warning for each of these. */
type Prepared = {loaded: PublishedLibrary[]; skipped: string[]; warnings: string[]}

/**
 * Before anything of a bundle is written: each of its libraries loads and keeps its examples, or the push is refused with what stopped
 * it. One that the other side publishes is left alone, and said so.
 */
export const prepareLibraries = async (db: Pool, author: Author, libraries: PublishedLibrary[]): Promise<Prepared> => {
  const prepared: Prepared = {loaded: [], skipped: [], warnings: []}
  if (libraries.length === 0) return prepared
  await assertFeature(db, author.org, 'helper_libraries')
  for (const library of libraries) {
    const {namespace} = library.manifest
    const found = await findLibrary(db, {org: author.org, namespace})
    if (found && found.managedBy !== managerFor(author as Publisher)) {
      const who = found.managedBy === 'sdk' ? 'the configuration repository publishes it' : 'people publish it on its page'
      prepared.skipped.push(namespace)
      prepared.warnings.push(`${namespace} was left alone: ${who}`)
      continue
    }
    await assertLoads(namespace, library)
    prepared.loaded.push(library)
  }
  return prepared
}

/** Each in a transaction of its own. Answers the versions of the registry they made, in order. */
export const publishPrepared = async (db: Pool, author: Author, {loaded}: Prepared): Promise<number[]> => {
  const made: number[] = []
  for (const library of loaded) {
    const named = {namespace: library.manifest.namespace, condition: null}
    const publication = await publishLoaded(db, author as Publisher, named, {...library, restoredFrom: null})
    if (publication.made !== null) made.push(publication.made)
  }
  return made
}
