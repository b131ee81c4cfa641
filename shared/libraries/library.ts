import {z} from 'zod'
import type {Db} from '../../sql/database.ts'
import {findLibrary, type LibraryRow} from '../../sql/libraries.ts'
import {Refusal} from '../errors.ts'
import {Manifest} from '../expressions/manifest.ts'
import type {Author} from '../registry/change.ts'

/** What a person or a repository publishes. */
export const PublishedLibrary = z.strictObject({
  manifest: Manifest.describe('What the library says of itself'),
  source: z.string().describe('Its source: a JavaScript module that exports functions only'),
})
export type PublishedLibrary = z.output<typeof PublishedLibrary>

/** A library in the specification's words. */
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

/** Whoever may publish: a repository with its API token, or people. */
export type Publisher = Author & {via: 'session' | 'token' | 'oauth'; person: string}

/** What a first publish makes of a library: the repository's that pushed it, or people's. */
export const managerFor = ({via}: Publisher) => (via === 'token' ? ('sdk' as const) : null)

/** A library is published by one of the two only, so that neither writes over the other unseen. */
export const assertPublishes = (publisher: Publisher, {managedBy, namespace}: Pick<LibraryRow, 'managedBy' | 'namespace'>) => {
  if (managedBy === managerFor(publisher)) return
  const message =
    managedBy === 'sdk'
      ? `The org's configuration repository publishes ${namespace}: change it there, or hand it over to people first`
      : `People publish ${namespace} on its page: hand it over to the configuration repository first`
  throw new Refusal('LIBRARY_MANAGED', message, {managedBy})
}
