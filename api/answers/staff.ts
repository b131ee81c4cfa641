import {z} from 'zod'
import {Answer, Id, Moment} from './common.ts'

export const Account = Answer({
  dc: z.string().meta({description: 'The data centre of the CRM account', examples: ['eu']}),
  id: z.string().meta({description: 'The id of the account there (ZUID)', examples: ['20060012345']}),
})

export const Person = Answer({
  id: Id('per', 'The person'),
  name: z.string().describe('Their name, as of their last sign-in'),
  email: z.string().describe('Their address, as of their last sign-in'),
  account: Account.describe('The account they sign in with'),
  staff: z.boolean().describe('Whether they are staff'),
  bannedAt: Moment('When they were banned').nullable().describe('When they were banned. Null: they are not'),
}).meta({id: 'Person'})
