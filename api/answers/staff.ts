import {z} from 'zod'
import {Answer, ByName, Count, Id, Json, Moment, RoleName} from './common.ts'

const Account = Answer({
  dc: z.string().meta({description: 'The data centre of the CRM account', examples: ['eu']}),
  id: z.string().meta({description: 'The id of the account there (ZUID)', examples: ['20060012345']}),
})

export const StaffMember = Answer({
  id: z.string().describe('The person (`per_`), or an account that waits for its first sign-in (`stf_`)'),
  account: Account.nullable().describe('The account; null: an entry of an older version that has an address alone and no effect'),
  email: z.string().nullable().describe('Their address, as of their last sign-in; null: they never signed in'),
  name: z.string().nullable().describe('Their name; null: they never signed in'),
  awaited: z.boolean().describe('Whether the account waits for its first sign-in'),
}).meta({id: 'StaffMember'})

const person = {
  id: Id('per', 'The person'),
  name: z.string().describe('Their name, as of their last sign-in'),
  email: z.string().describe('Their address, as of their last sign-in'),
  account: Account.describe('The account they sign in with'),
  staff: z.boolean().describe('Whether they are staff'),
  bannedAt: Moment('When they were banned').nullable().describe('When they were banned; null: they are not'),
}

export const Person = Answer(person).meta({id: 'Person'})

export const PersonPlaced = Answer({
  ...person,
  orgs: z
    .array(Answer({id: Id('org', 'The org'), name: z.string().describe("The org's name"), role: RoleName}))
    .describe('Where they are members'),
}).meta({id: 'PersonPlaced'})

export const Erased = Answer({
  deleted: z.literal(true).describe('They are erased'),
  heirs: z
    .array(Answer({org: Id('org', 'The org'), person: Id('per', 'Who became its owner')}))
    .describe('Orgs whose only owner they were, and who is it now. Empty without `force`'),
})

export const StaffAction = Answer({
  id: Id('act', 'The line of the record'),
  kind: z.string().meta({description: 'What was done', examples: ['org.credits']}),
  staff: Answer({
    id: Id('per', 'The person'),
    name: z.string().describe('Their name then'),
    email: z.string().describe('Their address then'),
  })
    .nullable()
    .describe('Who did it; null: the operator'),
  org: Id('org', 'The org it was done to').nullable().describe('The org it was done to; null: to none'),
  person: Id('per', 'The person it was done to').nullable().describe('The person it was done to; null: to none'),
  reason: z.string().nullable().describe('Why, in their own words; null: none was needed or given'),
  detail: ByName(Json('By the kind'), 'What else is known of it, by the kind'),
  createdAt: Moment('When'),
}).meta({id: 'StaffAction'})

export const Night = Answer({
  day: z.iso.date().describe('The day it began, in UTC'),
  startedAt: Moment('When it began'),
  endedAt: Moment('When it ended').nullable().describe('When it ended; null: it is under way, or its worker died'),
  tries: Count('How often it was begun'),
  counts: ByName(Count('Rows deleted'), 'Rows deleted, by what they were'),
  failures: Count('Steps that failed'),
  failed: z
    .array(
      Answer({
        org: Id('org', 'Whose').nullable().describe('Whose; null: of no org, or erased since'),
        step: z.string().describe('Which step failed'),
        message: z.string().describe('How, for the operator'),
        at: z.string().describe('When, as ISO 8601'),
      }),
    )
    .describe('The first fifty of them'),
}).meta({id: 'RetentionNight'})

export const OrgClosing = Answer({
  id: Id('org', 'The org'),
  name: z.string().describe('Its name'),
  closedAt: Moment('When it was closed').nullable().describe('When it was closed; null: it is open'),
  erasingAt: Moment('When its erasure began').nullable().describe('When its erasure began; null: it did not'),
}).meta({id: 'OrgClosing'})

export const StaffView = Answer({
  token: z.string().describe('The bearer of the view: an admin of the org who is not a member'),
  expiresAt: Moment('When it ends: in an hour'),
})

export const ErasureResult = Answer({rows: Count('Rows deleted')})
