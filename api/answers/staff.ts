import {z} from 'zod'
import {Answer, ByName, Count, Id, Json, Moment, RoleName} from './common.ts'

const Account = Answer({
  dc: z.string().meta({description: 'The data centre of the CRM account', examples: ['eu']}),
  id: z.string().meta({description: 'The id of the account there (ZUID)', examples: ['20060012345']}),
})

export const StaffMember = Answer({
  id: z.string().describe('The person (`per_`), or an account awaiting its first sign-in (`stf_`)'),
  account: Account.nullable().describe('The account. Null: an entry of an older version that has only an address and no effect'),
  email: z.string().nullable().describe('Their address, as of the last sign-in. Null: never signed in'),
  name: z.string().nullable().describe('Their name. Null: never signed in'),
  awaited: z.boolean().describe('Whether the account awaits its first sign-in'),
}).meta({id: 'StaffMember'})

const person = {
  id: Id('per', 'The person'),
  name: z.string().describe('Their name, as of their last sign-in'),
  email: z.string().describe('Their address, as of their last sign-in'),
  account: Account.describe('The account they sign in with'),
  staff: z.boolean().describe('Whether they are staff'),
  bannedAt: Moment('When they were banned').nullable().describe('When they were banned. Null: they are not'),
}

export const Person = Answer(person).meta({id: 'Person'})

export const PersonPlaced = Answer({
  ...person,
  orgs: z
    .array(Answer({id: Id('org', 'The org'), name: z.string().describe("The org's name"), role: RoleName}))
    .describe('Orgs they are members of'),
}).meta({id: 'PersonPlaced'})

export const Erased = Answer({
  deleted: z.literal(true).describe('The person is erased'),
  heirs: z
    .array(Answer({org: Id('org', 'The org'), person: Id('per', 'The new owner')}))
    .describe('Orgs whose only owner they were, with the new owner. Empty without `force`'),
})

export const StaffAction = Answer({
  id: Id('act', 'The action'),
  kind: z.string().meta({description: 'What was done', examples: ['org.credits']}),
  staff: Answer({
    id: Id('per', 'The person'),
    name: z.string().describe('Their name at that time'),
    email: z.string().describe('Their address at that time'),
  })
    .nullable()
    .describe('The staff member. Null: the operator'),
  org: Id('org', 'The org').nullable().describe('The org concerned. Null: none'),
  person: Id('per', 'The person').nullable().describe('The person concerned. Null: none'),
  reason: z.string().nullable().describe('The reason given. Null: none'),
  detail: ByName(Json('Depends on the kind'), 'Details, depending on the kind'),
  createdAt: Moment('When it was done'),
}).meta({id: 'StaffAction'})

export const Night = Answer({
  day: z.iso.date().describe('The day it began, in UTC'),
  startedAt: Moment('When it began'),
  endedAt: Moment('When it ended').nullable().describe('When it ended. Null: in progress, or its worker died'),
  tries: Count('How often it was started'),
  counts: ByName(Count('Rows deleted'), 'Rows deleted, by kind'),
  failures: Count('Steps that failed'),
  failed: z
    .array(
      Answer({
        org: Id('org', 'The org').nullable().describe('The org. Null: none, or erased since'),
        step: z.string().describe('The failed step'),
        message: z.string().describe('The error, for the operator'),
        at: z.string().describe('Time of the failure, in ISO 8601'),
      }),
    )
    .describe('The first 50 failures'),
}).meta({id: 'RetentionNight'})

export const OrgClosing = Answer({
  id: Id('org', 'The org'),
  name: z.string().describe('Name of the org'),
  closedAt: Moment('When it was closed').nullable().describe('When it was closed. Null: it is open'),
  erasingAt: Moment('When its erasure began').nullable().describe('When its erasure began. Null: it has not'),
}).meta({id: 'OrgClosing'})

export const StaffView = Answer({
  token: z.string().describe('The bearer token of the view, with the admin role in the org'),
  expiresAt: Moment('When the view ends: after one hour'),
})

export const ErasureResult = Answer({rows: Count('Rows deleted')})
