import type {CrmRecord, RecordOptions} from '../../shared/crm/crm.ts'
import type {Flow} from '../../shared/mapping/flows/flow.ts'
import type {SnapshotLookup} from '../../shared/mapping/flows/lookups.ts'
import type {Snapshot, SnapshotFlow, SnapshotModule, SnapshotSource} from '../../shared/mapping/flows/snapshot.ts'
import type {Rules} from '../../shared/mapping/flows/value.ts'
import type {ValueMap} from '../../shared/mapping/flows/value-map.ts'
import type {PlanStep} from '../../shared/runs/sealed-plan/plan-step.ts'
import type {NewQuestion} from '../../sql/questions.ts'
import type {OutcomeName} from '../../sql/run-log.ts'
import type {FlowProgram} from './compose/flow-program.ts'
import type {LookupNote} from './compose/link-rows.ts'
import type {ParentCandidates, ParentLink} from './compose/parents.ts'
import type {ModuleMarks} from './edits/record-marks.ts'
import type {SnapshotMatches} from './match-snapshot/match-snapshot.ts'
import type {PatchPlan} from './patch/build-patches.ts'
import type {NestableRows} from './read/nested-reader.ts'
import type {NestedRows} from './send/nested-rows.ts'
import type {CompiledSubformFlow} from './subform/record-order.ts'

/**
 * Operation codes as the ledger stores them. `again`: the row is to be planned again. `replace`: a subform row is written with all other
 * rows of its parent. `tag`: a written record gets the tags of its flow. `delete`: a row or an undo deletes a record. `undelete`: an undo
 * restores a record from the recycle bin.
 */
export const STEP_CODES = {create: 0, update: 1, again: 2, replace: 3, patch: 4, tag: 5, delete: 6, undelete: 7} as const
export type StepKind = 'create' | 'update' | 'delete'
export type BatchKind = StepKind | 'replace' | 'undelete'

/** A row in the row pipeline of one flow. It is in memory until it is settled. */
export type ImportRow = {
  number: number
  key: string
  payload: Record<string, unknown>
  matchKey: Buffer | null
  /**
   * The keys of the row's locks: its match key, each unique value, and its target record. Parent rows and waiting child rows share further
   * keys.
   */
  lockKeys: string[]
  /** The ids of the CRM records that match the row. */
  matches: string[]
  /** The ids of matching records that had every value of the payload when they were read. */
  unchanged?: string[]
  /**
   * The matching records as they were read. Set if the flow keeps edits or the run stores before images. Cleared if the row had to wait for a row
   * lock, because the records may have changed meanwhile.
   */
  known?: CrmRecord[] | undefined
  /** Whether `known` was read by id. Unlike the result of a query, such a read shows all recent writes. */
  isKnownById?: boolean
  /** Values left out of the payload because the record already had them. */
  confirmed?: Record<string, unknown>
  /** The marks that the row's last update leaves on its record. Null: the last write was no update, or the flow stores no marks. */
  marks?: Buffer | null
  /** Fields left out of the payload because a person edited them. They are logged with the row's next entry. */
  keptEdits?: string[]
  /**
   * Only in a patch: the link fields that earlier writes of the chain left empty. If such a field has a value now and no mark, a person filled the
   * field.
   */
  leftEmpty?: string[]
  /** Only in a patch: fields to write only if the record has no value there. Cleared when the record was read under the row's lock. */
  onlyAbsent?: string[] | undefined
  hasUniqueKey: boolean
  /** Sent besides the payload, by the row's create only. Updates and comparisons do not use it. */
  idempotency?: {field: string; value: string}
  /** Whether the row is written by a record call although its flow writes in bulk. */
  isByRecords?: boolean
  /** The number of the last attempt that was sent or logged. */
  attempt: number
  /** The number of unanswered sends in this run only. */
  unansweredSends: number
  /** When the first unanswered send became known, in monotonic ms. */
  unansweredSince?: number
  /** Whether the CRM refused the row's delete because the record is gone. */
  isGone?: boolean
  /** Whether an earlier run of the chain sent a create of this row that was never answered. */
  hasLostCreate?: boolean
  /** The record of an update of this row that was never answered, sent by this run or by an earlier run of the chain. */
  lostUpdate?: string | null
  /** The number of unanswered creates of this row in its chain for which no record was found. */
  unansweredCreates: number
  /** The payload digest of an unanswered create without a unique key that an earlier owner or an earlier run sent. */
  sentDigest?: Buffer
  /**
   * The operation that planning must keep: one that was sent earlier, or the update of a patch or a tag. Null: planning chooses the
   * operation.
   */
  decided: {kind: StepKind; target: string | null} | null
  /** The outcome under which the row is counted now. */
  counted: OutcomeName | null
  /** Sentences for the message of the log entry if the write succeeds. */
  remarks?: string[]
  /** Whether the row has an entry in the table `unsettled`. */
  open: boolean
  pendingLinks?: PendingLink[]
  /** Log entries about links that did not resolve to one record. They are written with the row's first entry. */
  notes?: LookupNote[]
  /** The fields whose link was left empty. */
  emptyLinks?: string[]
  /** Whether the row's patch ended unanswered. */
  isPatchOpen?: boolean
  /** Fields whose value in the file had too many decimal places and was rounded. */
  rounded?: string[]
  /** Fields whose value map has no entry for the value of the row. */
  unmapped?: string[]
  /** The fields of `unmapped` whose value map treats the value as a blank cell. */
  emptied?: string[]
  isCanary?: boolean
  /** Whether sending the row counts towards the row limit. Default true. */
  isMetered?: boolean
  /** Only in a patch: whether the run wrote the row before. */
  isSecondWrite?: boolean
  /** Only in a tag pass: later rows with the same record. They are not sent; the answer for this row settles them. */
  sameRecordRows?: ImportRow[]
  /** The subform rows to send in this row's create, as read from the file. */
  nestable?: NestableRows
  /** The subform rows to send in this row's create, as composed. */
  nested?: NestedRows[]
  parentCandidates?: ParentCandidates
  /** Whether later rows of the flow may wait for this row, because it can be their parent. */
  isAwaited?: boolean
  /** The row's step in the sealed plan that the run applies. Null: the plan does not write the row. Absent: the run applies no plan. */
  step?: PlanStep | null | undefined
  /** The keys of the parent rows for which this row waits. */
  waitsFor?: string[] | undefined
}

/**
 * A row that ends without an operation. Without `end`, the row failed. `held`: the flow's filter excludes the row, and the row gets no log
 * entry. `question`: what a user must answer first.
 */
export type RowFailure = {
  number: number
  key: string
  code: string
  message: string
  target: string | null
  end?: 'skipped' | 'held'
  /** For a row that was sent before, or nested in an unanswered create: its last attempt and its counted outcome. */
  sent?: Pick<ImportRow, 'counted' | 'attempt' | 'lostUpdate'>
  step?: ImportRow['step']
  notes?: LookupNote[]
  question?: NewQuestion
  unmapped?: string[]
  emptied?: string[]
}

/** A link to resolve. `digest`: identifies the value; null if no record can be found by it. */
export type PendingLink = {field: string; link: Link; text: string; digest: string | null}

export const isRow = (composed: ImportRow | RowFailure): composed is ImportRow => 'payload' in composed

export type FlowField = SnapshotModule['fields'][number]

/**
 * How the value of a link field finds a record. `always`: whether every value is searched for. If false, only values of a user field that
 * contain `@` are searched for.
 */
export type Link = {
  lookup: SnapshotLookup
  always: boolean
  onNone: 'leave' | 'fail' | 'skip'
  onMany: 'leave' | 'first' | 'ask' | 'skip' | 'fail'
}

/**
 * How one field is filled. `expression`: the name of the expression that computes the value. Without an expression, the value is the cell
 * or the static text.
 */
export type FieldMapping = {
  field: FlowField
  column: number | null
  text: string
  clears: boolean
  rules?: Rules
  values?: ValueMap | undefined
  expression?: string
  link?: Link
}

export type CompiledFlow = {
  no: number
  id: string
  source: SnapshotSource
  module: SnapshotModule
  mappings: FieldMapping[]
  program?: FlowProgram | null
  matchFields: FlowField[]
  uniqueFields: FlowField[]
  onOne: 'update' | 'skip' | 'create'
  onMany: 'ask' | 'first' | 'skip'
  /**
   * The fields that are read with each matched record to find unchanged records and edited values. Null: matching reads no values, so it
   * finds no unchanged records.
   */
  comparedFields: FlowField[] | null
  deletes?: boolean
  /** Further fields that are read with each matched record if the run stores before images. */
  imageFields?: FlowField[]
  parent?: ParentLink | null
  /** What happens to edited values. Null: they are overwritten. */
  edits?: EditRules | null
  /** Null: the run stores no marks for the flow. */
  marks?: ModuleMarks | null
  /**
   * The link to the parents, the parents' subform field and the parents' module. Only flows of subform rows have these. For `nested`, see
   * `SnapshotFlow`.
   */
  subform?: {link: ParentLink; field: string; module: string; nested?: SnapshotFlow['nested']} | null
  /** Flows of subform rows that are sent in the creates of this flow. */
  nestedFlows?: CompiledSubformFlow[]
  /** Whether records that a row only matched are stored too, because other flows or later patches need them. */
  isReferenced?: boolean
  /** Matches rows against an export of the module, before queries match the others. Null or absent: queries match every row. */
  snapshotMatches?: SnapshotMatches | null
  /** Set only in the compiled flow of a patch pass. */
  patchPlan?: PatchPlan
  /** The tags that a tag pass adds. Set only in the compiled flow of a tag pass. */
  tags?: string[]
  /** Whether the run adds tags to the records that the flow writes. False if that run is an undo. */
  addsTags?: boolean
  /** `undo`: the writes belong to an undo, and `judgeUndo` settles their answers. */
  judge?: 'undo'
  /** Only for the restores of an undo: updates are refused for records that changed after this time, in ms by the CRM's clock. */
  unmodifiedSince?: number | null
  options?: RecordOptions
  /** The routes that the flow requests. They apply if the run was started without a choice of routes. */
  routes?: Pick<Flow, 'matchBy' | 'writeBy'>
  /** `requires`: the fields that a create must fill. */
  layout?: {name: string; requires: string[]}
}

/**
 * How a flow treats edited values. `fields`: the fields whose values can be compared. `choices`: what happens to an edited value of a field; a
 * field that is absent is overwritten. `onUnknown`: what happens to a value if no mark shows whether a person edited it. `skipsUnchanged`: whether
 * a row is skipped if its record has every value.
 */
export type EditRules = {
  fields: ReadonlyMap<string, FlowField>
  choices: ReadonlyMap<string, 'keep' | 'ask'>
  onUnknown: 'write' | 'keep'
  skipsUnchanged: boolean
}

export type CompileFlowInput = Pick<Snapshot, 'sources' | 'modules'> &
  Partial<Pick<Snapshot, 'flows' | 'lookups' | 'libraries' | 'context' | 'lineage'>>
