import type {FieldShape} from '../../../shared/flows/value.ts'
import type {Row, Track} from '../../../workers/engine/row.ts'

type Field = Track['matchFields'][number]

export const field = (apiName: string, more: Partial<FieldShape & {unique: boolean}> = {}): Field => ({
  ...{apiName, label: apiName, type: 'text', length: null, decimalPlaces: null, unique: false, picklist: []},
  ...more,
})

/** A row that has been read and composed, and of which nothing is known yet. */
export const row = (number: number, more: Partial<Row> = {}): Row => ({
  ...{number, key: `f.${number}`, payload: {Name: `Row ${number}`}, matchKey: null, holds: [], matches: [], witness: false, attempt: 0},
  ...{silences: 0, unansweredCreates: 0, decided: null, counted: null, open: false},
  ...more,
})

/** A flow whose file has one column a field, in order. */
export const track = (fields: Field[], more: Partial<Track> = {}): Track => ({
  ...{no: 1, id: 'f', module: {no: 1, apiName: 'Things', label: 'Things', fields}, matchFields: [], onOne: 'update', onMany: 'ask'},
  source: {no: 1, id: 's', label: 's', fileKey: 'k', sha256: '', reader: {}, columns: fields.map(({apiName}) => apiName), rows: 1},
  fillers: fields.map((field, column) => ({field, column, text: '', clears: false})),
  uniqueFields: fields.filter(({unique}) => unique),
  ...more,
})
