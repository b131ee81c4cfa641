import {isDeepStrictEqual} from 'node:util'
import {z} from 'zod'
import type {Pool, Tx} from '../../../sql/database.ts'
import {deleteLibrary, findLibrary, findVersion, insertVersion, type LibraryRow, lockLibrary} from '../../../sql/libraries.ts'
import {assertFeature} from '../../billing/entitlements/features.ts'
import {type Change, recordChanges} from '../../configuration/change.ts'
import {type Condition, holdVersion, logVersion, raiseVersion, type VersionReply} from '../../configuration/version.ts'
import {Refusal} from '../../errors.ts'
import {newId} from '../../ids.ts'
import {assertLoads} from './check.ts'
import {assertPublishes, managerFor, notFound, PublishedLibrary, type Publisher, readLibrary} from './library.ts'

type LibraryRef = {namespace: string; condition: Condition; proposedBy?: 'ai' | null | undefined}
/** `made`: the new registry version, or null if nothing was published. */
type Publication = {library: LibraryRow; versionReply: VersionReply; made: number | null}

/** The library is loaded and its examples run before anything is written. Unchanged content is not published again. */
export const publishLibrary = async (
  db: Pool,
  publisher: Publisher,
  {namespace, ...asked}: LibraryRef,
  published: PublishedLibrary,
): Promise<Publication> => {
  const {org} = publisher
  await assertFeature(db, org, 'helper_libraries')
  const before = await findLibrary(db, {org, namespace})
  if (before) assertPublishes(publisher, before)
  await assertLoads(namespace, published)
  return publishLoaded(db, publisher, {namespace, ...asked}, {...published, restoredFrom: null})
}

/**
 * Publishes an old version again as the next one. Nothing is published if the old version equals the current one. The current version itself is not
 * loaded.
 */
export const restoreLibrary = async (
  db: Pool,
  publisher: Publisher,
  {versionNumber, ...named}: LibraryRef & {versionNumber: number},
): Promise<Publication> => {
  const {org} = publisher
  await assertFeature(db, org, 'helper_libraries')
  const library = await readLibrary(db, {org, namespace: named.namespace})
  // Does not look up a number above the current version's. Postgres refuses to compare version numbers with numbers over 2,147,483,647.
  const version = versionNumber <= library.versionNumber ? await findVersion(db, {library: library.id, versionNumber}) : null
  if (!version) throw new Refusal('NOT_FOUND', 'This library has no such version')
  assertPublishes(publisher, library)
  if (versionNumber === library.versionNumber) return keepPublished(db, org, named.condition, library)
  const {data: published, error} = PublishedLibrary.safeParse(version)
  if (error) throw new Refusal('LIBRARY_LOAD', `Version ${versionNumber} does not meet the current rules: ${z.prettifyError(error)}`)
  await assertLoads(named.namespace, published)
  return publishLoaded(db, publisher, named, {...published, restoredFrom: versionNumber, library: library.id})
}

const keepPublished = (db: Pool, org: string, condition: Condition, library: LibraryRow): Promise<Publication> =>
  db.transaction(async tx => {
    await holdVersion(tx, org, condition)
    return {library, versionReply: logVersion(condition, null), made: null}
  })

type Content = PublishedLibrary & {restoredFrom: number | null; library?: string}

/** The caller must have checked the library just before. */
export const publishLoaded = (
  db: Pool,
  publisher: Publisher,
  {namespace, condition, proposedBy = null}: LibraryRef,
  content: Content,
): Promise<Publication> =>
  db.transaction(async tx => {
    const {org, person} = publisher
    await holdVersion(tx, org, condition)
    const before = await lockLibrary(tx, {org, namespace})
    if (content.library !== undefined && before?.id !== content.library) throw notFound()
    if (before) assertPublishes(publisher, before)
    if (before && isCurrent(before, content)) return {library: before, versionReply: logVersion(condition, null), made: null}
    const id = before?.id ?? newId('lib')
    const versionNumber = (before?.versionNumber ?? 0) + 1
    const managedBy = before ? before.managedBy : managerFor(publisher)
    const {manifest, source, restoredFrom} = content
    await insertVersion(tx, {id, org, namespace, managedBy, versionNumber, manifest, source, restoredFrom, person})
    const after = {libraryId: id, version: manifest.version, versionNumber, ...(restoredFrom !== null && {restoredFrom})}
    const subject = restoredFrom === null ? 'library.published' : 'library.restored'
    const made = await logPublished(tx, publisher, {
      subject,
      target: namespace,
      before: before ? nameVersion(before) : null,
      after,
      proposedBy,
    })
    return {library: (await findLibrary(tx, {org, namespace}))!, versionReply: logVersion(condition, made), made}
  })

const isCurrent = ({manifest, source}: LibraryRow, content: Content) =>
  content.source === source && isDeepStrictEqual(content.manifest, manifest)

/** Removes a library with its history. A later library of the same name starts a new history. */
export const removeLibrary = (
  db: Pool,
  publisher: Publisher,
  {namespace, condition}: Omit<LibraryRef, 'proposedBy'>,
): Promise<{library: LibraryRow; versionReply: VersionReply}> =>
  db.transaction(async tx => {
    await holdVersion(tx, publisher.org, condition)
    const library = await lockLibrary(tx, {org: publisher.org, namespace})
    if (!library) throw notFound()
    assertPublishes(publisher, library)
    await deleteLibrary(tx, library.id)
    const change = {subject: 'library.removed', target: namespace, before: nameVersion(library), after: null}
    return {library, versionReply: logVersion(condition, await logPublished(tx, publisher, change))}
  })

const nameVersion = ({id, manifest, versionNumber}: LibraryRow) => ({libraryId: id, version: manifest.version!, versionNumber})

const logPublished = async (tx: Tx, publisher: Publisher, change: Omit<Change, 'page'>): Promise<number> => {
  const made = await raiseVersion(tx, publisher.org)
  await recordChanges(tx, publisher, [{...change, page: 'libraries', registryVersion: made}])
  return made
}
