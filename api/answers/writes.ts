import {z} from 'zod'
import {Answer, Count, CrmSaid, Id, JobWith, Moment} from './common.ts'
import {Stop} from './runs.ts'

const named = {
  rowKey: z.string().optional().describe('The row, as it was named; of replaced rows their parent is named instead'),
  writeId: z.string().optional().describe('The name it was sent under, where it had one'),
}
const ofParent = {
  parentId: z.string().describe("The CRM's id of the parent"),
  writeId: z.string().describe('The name it was sent under'),
}

const written = {
  ok: z.literal(true).describe('It is written'),
  recordId: z.string().describe("The CRM's id of the record"),
  outcome: z.enum(['created', 'updated', 'inherited']).describe('`inherited`: it was written before, and is not sent again'),
}

const replaced = {ok: z.literal(true).describe('The rows are replaced'), deleted: Count('Rows that went'), added: Count('Rows that came')}

const failed = {
  ok: z.literal(false).describe('It is not written, or nobody knows'),
  error: z.string().describe('Why, and what to do, for a person'),
  code: z.string().optional().describe('Why, for programs, where it is ours; what the CRM says stands in `crm`'),
  crm: CrmSaid.optional().describe('What the CRM answered, or that it did not'),
  written: z.literal(false).optional().describe('For certain nothing was sent: the same may be sent again'),
  duplicateOf: z.string().optional().describe("The CRM's id of the one record it is a duplicate of"),
  retryAfterMs: z.int().nonnegative().optional().describe('When to send it again, in milliseconds'),
  stop: Stop.optional().describe('Why the run writes no more'),
  connection: z.enum(['ended', 'disconnected']).optional().describe('How the connection stands'),
}

const open = {ok: z.null().describe('Nothing is known of it yet')}

export const RecordResult = z
  .union([Answer({...named, ...written}), Answer({...named, ...failed})])
  .meta({id: 'RecordResult', description: 'What became of one record'})

const RowsResult = z
  .union([Answer({...ofParent, ...replaced}), Answer({...ofParent, ...failed})])
  .meta({id: 'RowsResult', description: 'What became of the rows of one parent'})

export const RecordResults = Answer({results: z.array(RecordResult).describe('One for each item, in the order sent')})
export const RowsResults = Answer({results: z.array(RowsResult).describe('One for each parent, in the order sent')})

export const Write = Answer({
  id: Id('wrt', 'The write'),
  runId: Id('run', 'The run it is under'),
  kind: z.enum(['create', 'update', 'replace', 'entries']).describe('What is done'),
  state: z.enum(['writing', 'done']).describe('`done`: of every item it is known what became of it'),
  crm: CrmSaid.nullable().describe("One answer of the CRM that was every item's; null: there was none"),
  createdAt: Moment('When it was sent'),
}).meta({id: 'Write', description: 'A request to write, which can be asked about for a week after its run'})

export const WriteBegun = Answer({write: Write, job: JobWith(Answer({write: Id('wrt', 'The write')})).describe('The work on it')})

export const WriteAnswer = Answer({
  write: Write,
  results: z
    .array(
      z.union([
        Answer({...named, ...written}),
        Answer({...named, ...replaced}),
        Answer({...named, ...failed}),
        Answer({...named, ...open}),
      ]),
    )
    .describe('One for each item, in the order sent'),
})

export const Logged = Answer({logged: Count('Entries that were logged')})

export const Taken = z.union([
  Answer({taken: z.literal(true).describe("The record is the row's")}),
  Answer({
    taken: z.literal(false).describe('It is not'),
    why: z
      .enum(['another', 'earlier', 'gone', 'unread', 'held', 'reused', 'ended'])
      .describe(
        '`another`: somebody else made it. `earlier`: it is older than the run. `gone`: it is not there. `unread`: it does not say by whom, or when. `held`: another row has it, in this run or any other run at the CRM org, or this row was sent again. `reused`: the row has another record. `ended`: the run writes no more',
      ),
  }),
])
