import {z} from 'zod'
import {Manifest} from '../../shared/expressions/manifest.ts'
import {Answer, Id, Moment} from './common.ts'

export const Library = Answer({
  namespace: z.string().describe('The name by which expressions use the library'),
  libraryId: Id('lib', 'The library. Removing and publishing again creates a new one'),
  version: z.string().meta({description: "The author's version label, from the manifest", examples: ['1.2.0']}),
  versionNumber: z.int().positive().describe('Number of this version, from 1'),
  scope: z.literal('org').describe('Available to expressions of this org'),
  manifest: Manifest.describe('The manifest of the library'),
  source: z.string().optional().describe('The source: a JavaScript module. Only if requested'),
  managedBy: z.literal('sdk').nullable().describe("`sdk`: published by the org's configuration repository. Null: published by people"),
  updatedAt: Moment('When this version was published'),
}).meta({id: 'Library', description: 'Functions for expressions of the org'})

const manifest = {
  namespace: 'names',
  version: '1.2.0',
  scope: 'org' as const,
  description: 'How we write names',
  functions: [
    {
      name: 'full',
      description: 'First and last name, without the blanks of a missing one',
      returns: 'text',
      parameters: [{name: 'first'}, {name: 'last'}],
      examples: [{arguments: ['Ana', 'Example'], result: 'Ana Example'}],
    },
  ],
}

export const publishedExample = {manifest, source: "export const full = (first, last) => [first, last].filter(Boolean).join(' ')"}

export const libraryExample = {
  namespace: 'names',
  libraryId: 'lib_01k9m0v6f8e2r4t7w3y5z1a2b3',
  version: '1.2.0',
  versionNumber: 3,
  scope: 'org',
  manifest,
  managedBy: null,
  updatedAt: '2026-03-01T08:30:00.000Z',
}
