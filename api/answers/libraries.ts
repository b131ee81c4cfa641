import {z} from 'zod'
import {Manifest} from '../../shared/expressions/manifest.ts'
import {Answer, Id, Moment, NextCursor, registryVersion} from './common.ts'

const versionNumber = z.int().positive()
const version = z.string().meta({description: "The author's label of it, as the manifest says", examples: ['1.2.0']})

export const Library = Answer({
  namespace: z.string().describe('What expressions call it by'),
  libraryId: Id('lib', 'The library: one that is removed and published again is another'),
  version,
  versionNumber: versionNumber.describe('Which version this is, counted from 1'),
  scope: z.literal('org').describe('It is for the expressions of this org'),
  manifest: Manifest.describe('What the library says of itself'),
  source: z.string().optional().describe('Its source: a JavaScript module. Only where it was asked for'),
  managedBy: z.literal('sdk').nullable().describe("Who publishes it: `sdk`, the org's configuration repository; null: people"),
  updatedAt: Moment('When this version was published'),
}).meta({id: 'Library', description: 'Functions that expressions of the org may call'})

export const LibraryList = Answer({libraries: z.array(Library).describe('By namespace')})
export const LibraryRead = Answer({library: Library})
export const LibraryChanged = Answer({library: Library, registryVersion})
export const LibraryMoved = Answer({library: Library, changed: z.boolean().describe('Whether it was published by the others until now')})

export const VersionPage = Answer({
  versions: z
    .array(
      Answer({
        versionNumber: versionNumber.describe('Which version this is, counted from 1'),
        version,
        restoredFrom: versionNumber.nullable().describe('The older version it brought back; null: it was published'),
        publishedBy: z.string().nullable().describe('Who published it, by their name today; null: they were deleted'),
        publishedAt: Moment('When it was published'),
      }),
    )
    .describe('The newest first'),
  nextCursor: NextCursor,
})

/** What keeps a library from being published, once its namespace is the one it is published as. */
export const ofLoading = [
  ...(['NAMESPACE_RESERVED', 'LIBRARY_SCOPE', 'LIBRARY_LOAD', 'LIBRARY_EXPORTS', 'LIBRARY_EXAMPLE'] as const),
  ...(['SANDBOX_UNAVAILABLE', 'BUSY'] as const),
]

const manifest = {
  ...{namespace: 'names', version: '1.2.0', scope: 'org' as const, description: 'How we write names'},
  functions: [
    {
      ...{name: 'full', description: 'First and last name, without the blanks of a missing one', returns: 'text'},
      parameters: [{name: 'first'}, {name: 'last'}],
      examples: [{arguments: ['Ana', 'Example'], result: 'Ana Example'}],
    },
  ],
}

export const publishedExample = {manifest, source: "export const full = (first, last) => [first, last].filter(Boolean).join(' ')"}

export const libraryExample = {
  ...{namespace: 'names', libraryId: 'lib_01k9m0v6f8e2r4t7w3y5z1a2b3', version: '1.2.0', versionNumber: 3, scope: 'org'},
  ...{manifest, managedBy: null, updatedAt: '2026-03-01T08:30:00.000Z'},
}

export const versionExample = {
  ...{versionNumber: 3, version: '1.2.0', restoredFrom: null, publishedBy: 'Ana Example', publishedAt: '2026-03-01T08:30:00.000Z'},
}
