import {z} from 'zod'
import {Manifest} from '../../expressions/manifest.ts'
import type {Namespaces} from '../../expressions/parse.ts'

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

export const namespacesOf = (libraries: Pick<SnapshotLibrary, 'namespace' | 'manifest'>[]): Namespaces =>
  Object.fromEntries(libraries.map(({namespace, manifest}) => [namespace, manifest.functions.map(({name}) => name)]))
