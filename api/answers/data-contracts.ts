import {z} from 'zod'
import {SourceContract} from '../../shared/mapping/contracts/contract.ts'
import {Answer, Count, Id, Json, Moment} from './common.ts'

const StoredContract = Answer({
  sources: z.array(SourceContract).describe('Expectations by slot'),
  version: Count('The version, from 1. 0: there is no contract'),
  updatedAt: Moment('When this version was created').nullable().describe('When this version was created. Null: there is no contract'),
}).meta({id: 'StoredDataContract', description: 'What each file of a template must meet'})

export const ContractRead = Answer({contract: StoredContract})

export const ContractProposal = Answer({
  contract: Answer({
    sources: z.array(SourceContract).describe('Expectations by slot. A slot without an accepted file is left out'),
  }).describe('The proposed contract, in the form that `PUT …/contract` takes'),
  files: z
    .array(Answer({slot: z.string().describe('The slot'), accepted: Count('Accepted files that the proposal is based on, at most 10')}))
    .describe('How many files each slot was learnt from'),
})

const Breach = Answer({
  slot: z.string().describe('The slot'),
  label: z.string().describe('Display name of the file'),
  column: z.string().nullable().describe('The column. Null: the expectation is about the whole file'),
  expectation: z
    .enum(['column', 'other_columns', 'type', 'unique', 'values', 'empty', 'rows'])
    .describe('The expectation that the file does not meet'),
  expected: z.record(z.string(), Json('A limit, a type, or the number of allowed values')).describe('What the contract expects'),
  actual: z.record(z.string(), Json('A count, a share, a row number, or names of columns')).describe('What the file has. Never a cell'),
  message: z.string().describe('The difference, in words'),
}).meta({id: 'ContractBreach', description: 'An expectation of a data contract that a file does not meet'})

export const ContractCheck = Answer({
  version: Count('The version of the contract. 0: the template has none, or the import has no template'),
  breaches: z.array(Breach).describe('The expectations that the files do not meet. Empty: they meet the contract'),
})

/** What a firing says about its held file. */
export const HeldFile = Answer({
  version: Count('The version of the contract that the file did not meet'),
  breaches: z.array(Breach).describe('The first 100 expectations that the file does not meet'),
  total: Count('The expectations that the file does not meet'),
  decision: z.enum(['accepted', 'discarded']).nullable().describe('What a person decided. Null: the file waits'),
  decidedAt: Moment('When a person decided').nullable().describe('When a person decided. Null: the file waits'),
}).meta({id: 'HeldFile', description: 'A file that a data contract held before its first row'})

export const FileAccepted = Answer({
  runId: Id('run', 'The run'),
  left: z.array(Breach).describe('With `adapt`: breaches that stay, because an editor must state the allowed values. Otherwise empty'),
})
export const FileDiscarded = Answer({discarded: Id('fir', 'The firing')})

export const sourceContractExample = {
  slot: 'file1',
  columns: [
    {name: 'Name', present: true, type: null, unique: false, values: null, picklist: null, emptyShare: 0},
    {name: 'E-mail', present: true, type: 'email' as const, unique: true, values: null, picklist: null, emptyShare: 0.05},
  ],
  otherColumns: 'allow' as const,
  rows: {least: 1, most: null, change: 0.5},
}

export const contractExample = {sources: [sourceContractExample], version: 2, updatedAt: '2026-03-04T10:00:00.000Z'}

export const breachExample = {
  slot: 'file1',
  label: 'Visitors',
  column: 'E-mail',
  expectation: 'type' as const,
  expected: {type: 'email'},
  actual: {cells: 12, firstRow: 4, kinds: {text: 12}},
  message: 'Visitors, column "E-mail": 12 cells are not of type email, first in row 4',
}
