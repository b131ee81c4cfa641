import {z} from 'zod'
import type {Db} from '../../../sql/database.ts'
import {findLibrary, type LibraryRow} from '../../../sql/libraries.ts'
import type {Author} from '../../configuration/change.ts'
import {Refusal} from '../../errors.ts'
import {Manifest} from '../manifest.ts'

export const PublishedLibrary = z.strictObject({
  manifest: Manifest.describe('The manifest of the library'),
  source: z.string().describe('The source: a JavaScript module that exports only functions'),
})
export type PublishedLibrary = z.output<typeof PublishedLibrary>

export const describeLibrary = (library: LibraryRow, {source}: {source: boolean}) => ({
  namespace: library.namespace,
  libraryId: library.id,
  version: String(library.manifest.version),
  versionNumber: library.versionNumber,
  scope: 'org' as const,
  manifest: library.manifest,
  ...(source && {source: library.source}),
  managedBy: library.managedBy,
  updatedAt: library.updatedAt,
})

export const readLibrary = async (db: Db, named: {org: string; namespace: string}): Promise<LibraryRow> => {
  const found = await findLibrary(db, named)
  if (!found) throw notFound()
  return found
}

export const notFound = () => new Refusal('NOT_FOUND', 'No such library')

/** The author of a publish: a repository with an API token, or a member. */
export type Publisher = Author & {via: 'session' | 'token' | 'oauth'; person: string}

/** Returns the manager of a new library: `sdk` for a repository, null for members. */
export const managerFor = ({via}: Publisher) => (via === 'token' ? ('sdk' as const) : null)

/** Refuses a publisher that does not manage the library, so that repository and members never overwrite each other. */
export const assertPublishes = (publisher: Publisher, {managedBy, namespace}: Pick<LibraryRow, 'managedBy' | 'namespace'>) => {
  if (managedBy === managerFor(publisher)) return
  const message =
    managedBy === 'sdk'
      ? `The org's configuration repository publishes ${namespace}. Change it there, or hand it over to members first`
      : `Members publish ${namespace} on its page. Hand it over to the configuration repository first`
  throw new Refusal('LIBRARY_MANAGED', message, {managedBy})
}
