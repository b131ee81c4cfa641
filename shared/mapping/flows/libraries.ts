import {z} from 'zod'
import {Manifest} from '../../expressions/manifest.ts'
import type {Namespaces} from '../../expressions/parse.ts'

/** A published library as a run's snapshot stores it. */
export const SnapshotLibrary = z.object({
  namespace: z.string(),
  libraryId: z.string(),
  versionNumber: z.number(),
  manifest: Manifest,
  source: z.string(),
})
export type SnapshotLibrary = z.infer<typeof SnapshotLibrary>

type PublishedVersion = {id: string; namespace: string; versionNumber: number; manifest: unknown; source: string}

export const shapeLibrary = ({id, namespace, versionNumber, manifest, source}: PublishedVersion): SnapshotLibrary => ({
  namespace,
  libraryId: id,
  versionNumber,
  source,
  manifest: Manifest.parse(manifest),
})

/** Returns the function names by library, for the parser of expressions. */
export const namespacesOf = (libraries: Pick<SnapshotLibrary, 'namespace' | 'manifest'>[]): Namespaces =>
  Object.fromEntries(libraries.map(({namespace, manifest}) => [namespace, manifest.functions.map(({name}) => name)]))
