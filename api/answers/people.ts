import {z} from 'zod'
import {Answer, Id} from './common.ts'

export const name = z.string().describe('Name at the CRM, as of the last sign-in')
export const email = z.string().describe('E-mail address at the CRM, as of the last sign-in')

export const PersonNamed = Answer({id: Id('per', 'The person'), name}).meta({id: 'PersonNamed'})

export const PlaceNamed = Answer({id: Id('org', 'The org'), name: z.string().describe("The org's name")})
