import {z} from 'zod'
import {judgeColumns, mapLocally} from '../../shared/ai/local-mapping.ts'
import {maskSamples} from '../../shared/ai/outgoing.ts'
import {readTargets} from '../../shared/ai/targets.ts'
import {Refusal} from '../../shared/errors.ts'
import {fillRows, SampleRows, sampledOf} from './sample.ts'
import {tool} from './tool.ts'

/** Each column is held against each field, on the thread that answers everybody: so many are a fraction of a second. */
const mostPairs = 30_000

const Candidate = z.object({module: z.string().nullable(), field: z.string(), confidence: z.number(), why: z.array(z.string())})

/** By the matcher alone: whoever calls has a model of their own, and no credits are spent. */
export const proposeMapping = tool({
  name: 'propose_mapping',
  title: 'Propose a mapping',
  description:
    'Proposes a field for every column of a file, from its name, up to 20 sample rows and what the organisation mapped before. From 0.8 a proposal is sure, from 0.5 worth checking; null means none fits. Answered in the order of the columns; personal values in a column’s name are struck out.',
  input: z.strictObject({
    modules: z.array(z.string().min(1).max(200)).min(1).max(5).describe('The modules to write to, as list_modules names them'),
    connector: z.string().max(100).optional().describe('Needed where several connections have a module'),
    columns: z
      .array(z.string().min(1).max(500))
      .min(1)
      .max(500)
      .refine(columns => new Set(columns).size === columns.length, 'Each column once'),
    rows: SampleRows.default([]).describe('Up to 20 sample rows, each by its columns'),
  }),
  output: z.object({
    proposals: z.array(
      z.object({
        column: z.string(),
        module: z.string().nullable(),
        field: z.string().nullable(),
        confidence: z.number(),
        candidates: z.array(Candidate),
      }),
    ),
  }),
  async run({db, caller: {org}}, {modules, connector, columns, rows}) {
    const known = await readTargets(db, {org, connectorId: connector, modules})
    const fields = known.targets.length + known.closed.length
    if (columns.length * fields > mostPairs)
      throw new Refusal(
        'INVALID',
        `These are ${columns.length} columns for ${fields} fields, too many at once: ask for at most ${Math.floor(mostPairs / fields)} columns, or fewer modules`,
      )
    const sampled = sampledOf(columns, fillRows(columns, rows))
    const proposals = await mapLocally(db, org, sampled, known)
    const leaving = maskSamples(known.policy, judgeColumns(sampled, known, proposals)).columns
    return {proposals: proposals.map((proposal, at) => ({...proposal, column: leaving[at]!.name}))}
  },
})
