import type {FieldShape} from '../../../shared/mapping/flows/value.ts'
import type {CompiledFlow, ImportRow} from '../../../workers/engine/model.ts'
import type {PatchPlan} from '../../../workers/engine/patch/build-patches.ts'

type Field = CompiledFlow['matchFields'][number]

export const field = (apiName: string, more: Partial<FieldShape & {unique: boolean}> = {}): Field => ({
  apiName,
  label: apiName,
  type: 'text',
  length: null,
  decimalPlaces: null,
  unique: false,
  picklist: [],
  ...more,
})

/** Returns a row that has been read and composed, without matches or outcome. */
export const row = (number: number, more: Partial<ImportRow> = {}): ImportRow => ({
  number,
  key: `f.${number}`,
  payload: {Name: `Row ${number}`},
  matchKey: null,
  lockKeys: [],
  matches: [],
  hasUniqueKey: false,
  attempt: 0,
  unansweredSends: 0,
  unansweredCreates: 0,
  decided: null,
  counted: null,
  open: false,
  ...more,
})

/** A patch plan without rules, for tests that need a patch flow. */
export const patchPlan: PatchPlan = {rules: new Map(), parent: null, repair: null, planned: new Set(), compileFor: () => compiledFlow([])}

/** Returns a compiled flow whose file has one column per field, in order. */
export const compiledFlow = (fields: Field[], more: Partial<CompiledFlow> = {}): CompiledFlow => ({
  no: 1,
  id: 'f',
  module: {no: 1, apiName: 'Things', label: 'Things', fields},
  matchFields: [],
  onOne: 'update',
  onMany: 'ask',
  comparedFields: null,
  source: {no: 1, id: 's', label: 's', fileKey: 'k', sha256: '', reader: {}, columns: fields.map(({apiName}) => apiName), rows: 1},
  mappings: fields.map((field, column) => ({field, column, text: '', clears: false})),
  uniqueFields: fields.filter(({unique}) => unique),
  ...more,
})

/** Returns the lease of a run that may write. `lost`: a signal that aborts when the lease is lost. */
export const leaseOf = (lost: AbortSignal) => ({
  lost,
  stopSeen: () => null,
  heldSeen: () => null,
  orgClosedSeen: () => false,
  writeStatusSeen: () => 'open',
})
