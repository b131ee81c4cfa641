import {z} from 'zod'
import {Answer, Count, Moment} from './common.ts'

const Probe = Answer({
  id: z.string().meta({description: 'Stable id of the fact', examples: ['coql.inSize']}),
  fact: z.string().describe('The fact that was checked, in words'),
  expected: z.string().describe('What the CRM is expected to do'),
  seen: z.string().describe('What the CRM did'),
  verdict: z
    .enum(['expected', 'different', 'unknown'])
    .describe(
      '`expected`: the CRM behaved as expected. `different`: it did not. `unknown`: it could not be checked, for example because the org has no record or the user lacks a permission',
    ),
  consequence: z.string().describe('What the result means for imports'),
}).meta({id: 'Probe'})

const Capabilities = Answer({
  coqlInSize: z.int().describe('Most values in one `in` of a COQL query'),
  coqlInLists: z.int().describe('Most lists of values, each in one `in`, in one COQL query'),
  coqlColumns: z.int().describe('Most columns in one COQL query'),
  coqlQuote: z.enum(['doubled', 'backslash']).describe('How a COQL query escapes a quote inside a text'),
  coqlWindow: z.enum(['between-offset', 'between-z', 'pair-offset', 'pair-z']).describe('How a COQL query writes a time range'),
  coqlLagSeconds: z
    .number()
    .describe('Longest time in seconds after which a query found a new record. Runs wait twice as long. 0: never measured'),
  unmodifiedSince: z
    .enum(['whole', 'record', 'ignored'])
    .nullable()
    .describe(
      'What the CRM refuses if one record of a batch changed after If-Unmodified-Since: the whole batch, the record, or nothing. Null: never checked',
    ),
}).meta({id: 'Capabilities', description: 'How the adapter calls the CRM on this connection'})

export const DoctorReport = Answer({
  ranAt: Moment('When the doctor ran'),
  write: z.boolean().describe('Whether the writing probes ran too'),
  credits: Count('CRM API credits that the run cost'),
  probes: z.array(Probe).describe('The probes, in the order they ran'),
  capabilities: Capabilities,
}).meta({id: 'DoctorReport'})

export const DoctorResult = Answer({
  expected: Count('Probes with the verdict `expected`'),
  different: Count('Probes with the verdict `different`'),
  unknown: Count('Probes with the verdict `unknown`'),
  credits: Count('CRM API credits that the run cost'),
}).meta({id: 'DoctorResult'})
