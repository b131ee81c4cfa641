import {z} from 'zod'
import {tagOf} from '../../shared/configuration/version.ts'
import {checkImport} from '../../shared/mapping/data-contracts/check-import.ts'
import {DataContract, SourceContract} from '../../shared/mapping/data-contracts/contract.ts'
import {proposeContract} from '../../shared/mapping/data-contracts/propose-contract.ts'
import {findVisibleContract, replaceContract, type StoredContract} from '../../shared/mapping/data-contracts/store.ts'
import {findVisible} from '../../shared/mapping/templates/find.ts'
import {acceptHeldFile, discardHeldFile} from '../../shared/schedules/held-file.ts'
import type {MemberCaller} from '../access.ts'
import {Breach} from '../answers/breach.ts'
import {Answer, Count, Id, Moment} from '../answers/common.ts'
import {firingExample} from '../answers/examples.ts'
import {templateAskerOf} from '../callers.ts'
import {conditionOf} from '../if-match.ts'
import {OfFiring, OfImport, OfTemplate} from '../params.ts'
import {ofPlan} from '../refusal-lists.ts'
import {reply} from '../reply.ts'
import {route} from '../route.ts'

const ContractAnswer = Answer({
  sources: z.array(SourceContract).describe('Expectations by slot'),
  version: Count('The version, from 1. 0: there is no contract'),
  updatedAt: Moment('When this version was created').nullable().describe('When this version was created. Null: there is no contract'),
}).meta({id: 'StoredDataContract', description: 'What each file of a template must meet'})

const ContractRead = Answer({contract: ContractAnswer})

const ContractProposal = Answer({
  contract: Answer({
    sources: z.array(SourceContract).describe('Expectations by slot. A slot without an accepted file is left out'),
  }).describe('The proposed contract, in the form that `PUT …/contract` takes'),
  files: z
    .array(Answer({slot: z.string().describe('The slot'), accepted: Count('Accepted files that the proposal is based on, at most 10')}))
    .describe('How many files each slot was learnt from'),
})

const ContractCheck = Answer({
  version: Count('The version of the contract. 0: the template has none, or the import has no template'),
  breaches: z.array(Breach).describe('The expectations that the files do not meet. Empty: they meet the contract'),
})

const FileAccepted = Answer({
  runId: Id('run', 'The run'),
  left: z.array(Breach).describe('With `adapt`: breaches that stay, because an editor must state the allowed values. Otherwise empty'),
})

const sourceContractExample = {
  slot: 'file1',
  columns: [
    {name: 'Name', present: true, type: null, unique: false, values: null, picklist: null, emptyShare: 0},
    {name: 'E-mail', present: true, type: 'email' as const, unique: true, values: null, picklist: null, emptyShare: 0.05},
  ],
  otherColumns: 'allow' as const,
  rows: {least: 1, most: null, change: 0.5},
}

const contractExample = {sources: [sourceContractExample], version: 2, updatedAt: '2026-03-04T10:00:00.000Z'}

const breachExample = {
  slot: 'file1',
  label: 'Visitors',
  column: 'E-mail',
  expectation: 'type' as const,
  expected: {type: 'email'},
  actual: {cells: 12, firstRow: 4, kinds: {text: 12}},
  message: 'Visitors, column "E-mail": 12 cells are not of type email, first in row 4',
}

const answer = (contract: StoredContract) => reply({json: {contract}, headers: {etag: tagOf(contract.version)}})

const heldFileOf = (caller: MemberCaller, {id, schedule, firing}: z.output<typeof OfFiring>) => ({
  editor: templateAskerOf(caller),
  template: id,
  schedule,
  firing,
})

export default [
  route({
    method: 'get',
    path: '/orgs/:org/templates/:id/contract',
    operationId: 'readContract',
    tag: 'Templates',
    access: {role: 'operator'},
    summary: 'Read the data contract of a template',
    description: 'What each file of the template must meet. The `ETag` is its version; a template without a contract has version 0.',
    answers: {200: ContractRead},
    refusals: ['NOT_FOUND'],
    example: {answer: {contract: contractExample}},
    params: OfTemplate,
    handle: async ({db, caller, params: {id}}) => answer(await findVisibleContract(db, {...templateAskerOf(caller), id})),
  }),
  route({
    method: 'put',
    path: '/orgs/:org/templates/:id/contract',
    operationId: 'replaceContract',
    tag: 'Templates',
    access: {role: 'builder'},
    summary: 'Replace the data contract of a template',
    description:
      'Allowed to the creator of the template and to admins. A schedule holds a file that does not meet the contract, before its first row. With `If-Match: "2"`, applies only if 2 is still the newest version.',
    answers: {200: ContractRead},
    refusals: ['BAD_IF_MATCH', 'NOT_FOUND', 'CONTRACT_CONFLICT'],
    example: {body: {sources: [sourceContractExample]}, answer: {contract: contractExample}},
    params: OfTemplate,
    body: DataContract,
    handle: async ({db, caller, params: {id}, body, request}) =>
      answer(await replaceContract(db, templateAskerOf(caller), {id, condition: conditionOf(request)}, body)),
  }),
  route({
    method: 'get',
    path: '/orgs/:org/templates/:id/contract/proposal',
    operationId: 'proposeContract',
    tag: 'Templates',
    access: {role: 'builder'},
    summary: 'Propose a data contract from accepted files',
    description:
      'What the last ten accepted files of the template have in common. A file is accepted when a run of it starts. Stores nothing: send the proposal, with your changes, to `PUT …/contract`.',
    answers: {200: ContractProposal},
    refusals: ['NOT_FOUND', 'BUSY', 'FILE_TOO_SLOW', 'UNREADABLE'],
    example: {answer: {contract: {sources: [sourceContractExample]}, files: [{slot: 'file1', accepted: 10}]}},
    params: OfTemplate,
    async handle({db, parsing, caller, params: {id}}) {
      return proposeContract({db, parsing}, await findVisible(db, {...templateAskerOf(caller), id}))
    },
  }),
  route({
    method: 'get',
    path: '/orgs/:org/imports/:id/contract',
    operationId: 'checkContract',
    tag: 'Templates',
    access: {role: 'operator'},
    summary: 'Check the files of an import against the data contract',
    description: 'Reads the files. The answer only informs: an import that a person starts is never held by a contract.',
    answers: {200: ContractCheck},
    refusals: ['IMPORT_NOT_FOUND', 'FILE_GONE', 'BUSY', 'FILE_TOO_SLOW', 'UNREADABLE'],
    example: {answer: {version: 2, breaches: [breachExample]}},
    params: OfImport,
    handle: ({db, parsing, caller: {org}, params: {id}}) => checkImport({db, parsing}, {org, importId: id}),
  }),
  route({
    method: 'post',
    path: '/orgs/:org/templates/:id/schedules/:schedule/firings/:firing/accept',
    operationId: 'acceptFile',
    tag: 'Schedules',
    access: {role: 'builder'},
    mayRefuseAfterChange: true,
    summary: 'Accept the file of a held firing',
    description:
      'Runs the file once, as you. With `adapt`, the contract is loosened so far that the file meets it, which requires to be the creator of the template or an admin.',
    answers: {200: FileAccepted},
    refusals: [
      ...(['NOT_FOUND', 'FILE_NOT_HELD', 'FILE_GONE', 'IMPORT_RUNNING', 'IMPORT_NOT_FOUND', 'SOURCE_NOT_FOUND', 'NOT_READY'] as const),
      ...(['WRITES_PAUSED', 'CONNECTION_ENDED', 'MODULE_DISABLED', 'NO_DISCOVERY', 'BUSY', 'FILE_TOO_SLOW', 'UNREADABLE'] as const),
      ...(['DELETES_UNCONFIRMED', 'ENCODING_REQUIRED', 'BAD_BYTES', 'FIELD_MAPPED', 'FIELD_NOT_UNIQUE'] as const),
      ...(['APPROVAL_REQUIRED', 'LIMIT_MODULES'] as const),
      ...ofPlan,
    ],
    example: {body: {adapt: true}, answer: {runId: firingExample.runId, left: []}},
    params: OfFiring,
    body: z.strictObject({adapt: z.boolean().default(false).describe('Whether to loosen the contract, so that a file like this meets it')}),
    handle: ({db, storage, config, parsing, queue, caller, params, body}) =>
      acceptHeldFile({db, storage, config, parsing, queue}, heldFileOf(caller, params), body),
  }),
  route({
    method: 'post',
    path: '/orgs/:org/templates/:id/schedules/:schedule/firings/:firing/discard',
    operationId: 'discardFile',
    tag: 'Schedules',
    access: {role: 'builder'},
    summary: 'Discard the file of a held firing',
    description:
      'Deletes its import and its file. The same file is not checked again until the template or its contract changes, or a person fires the schedule with `again`.',
    answers: {200: Answer({discarded: Id('fir', 'The firing')})},
    refusals: ['NOT_FOUND', 'FILE_NOT_HELD', 'IMPORT_NOT_FOUND', 'IMPORT_RUNNING'],
    example: {answer: {discarded: firingExample.id}},
    params: OfFiring,
    async handle({db, caller, params}) {
      await discardHeldFile({db}, heldFileOf(caller, params))
      return {discarded: params.firing}
    },
  }),
]
