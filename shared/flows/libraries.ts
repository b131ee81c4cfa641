import {z} from 'zod'
import {Manifest} from '../expressions/manifest.ts'
import type {Namespaces} from '../expressions/parse.ts'

/** A published library as a run keeps it. */
export const SnapshotLibrary = z.object({
  namespace: z.string(),
  libraryId: z.string(),
  versionNumber: z.number(),
  manifest: Manifest,
  source: z.string(),
})
export type SnapshotLibrary = z.infer<typeof SnapshotLibrary>

type Published = {id: string; namespace: string; versionNumber: number; manifest: unknown; source: string}

export const shapeLibrary = ({id, namespace, versionNumber, manifest, source}: Published): SnapshotLibrary => ({
  ...{namespace, libraryId: id, versionNumber, source},
  manifest: Manifest.parse(manifest),
})

/** As a parser knows them: the functions of each. */
export const namespacesOf = (libraries: Pick<SnapshotLibrary, 'namespace' | 'manifest'>[]): Namespaces =>
  Object.fromEntries(libraries.map(({namespace, manifest}) => [namespace, manifest.functions.map(({name}) => name)]))
