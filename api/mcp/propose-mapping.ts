import {z} from 'zod'
import {judgeColumns, mapLocally} from '../../shared/assistant/local-mapping.ts'
import {maskSamples} from '../../shared/assistant/sample-masking.ts'
import {readTargets} from '../../shared/assistant/targets.ts'
import {Refusal} from '../../shared/errors.ts'
import {fillRows, SampleRows, sampledOf} from './sample.ts'
import {tool} from './tool.ts'

/** Limit on the pairs of a column and a field. The main thread compares every pair; the limit keeps that within a fraction of a second. */
const mostPairs = 30_000

const Candidate = z.object({module: z.string().nullable(), field: z.string(), confidence: z.number(), why: z.array(z.string())})

/** Proposes fields with the matcher only, because the caller has its own model. Spends no AI credits. */
export const proposeMapping = tool({
  name: 'propose_mapping',
  title: 'Propose a mapping',
  description:
    'Proposes a field for every column of a file, from its name, up to 20 sample rows and what the organisation mapped before. Confidence from 0.8 is high; from 0.5, check the proposal; null means that no field fits. Results are in column order; personal values in column names are redacted.',
  input: z.strictObject({
    modules: z.array(z.string().min(1).max(200)).min(1).max(5).describe('The modules to write to, as named by list_modules'),
    connector: z.string().max(100).optional().describe('Required if several connections have a module'),
    columns: z
      .array(z.string().min(1).max(500))
      .min(1)
      .max(500)
      .refine(columns => new Set(columns).size === columns.length, 'A column occurs twice. List each column once'),
    rows: SampleRows.default([]).describe('Up to 20 sample rows, as objects keyed by column'),
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
  async run({db, parsing, caller: {org}}, {modules, connector, columns, rows}) {
    const known = await readTargets(db, {org, connectorId: connector, modules})
    const fields = known.targets.length + known.closed.length
    if (columns.length * fields > mostPairs)
      throw new Refusal(
        'INVALID',
        `${columns.length} columns for ${fields} fields are too many. Send at most ${Math.floor(mostPairs / fields)} columns, or fewer modules`,
      )
    const sampled = sampledOf(columns, fillRows(columns, rows))
    const proposals = await mapLocally({db, parsing}, org, sampled, known)
    const leaving = (await maskSamples(known.policy, await judgeColumns({parsing, org}, sampled, known, proposals))).columns
    return {proposals: proposals.map((proposal, at) => ({...proposal, column: leaving[at]!.name}))}
  },
})
