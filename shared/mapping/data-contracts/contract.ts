import {z} from 'zod'
import type {ContractRow} from '../../../sql/data-contracts.ts'
import {findRepeated} from '../../configuration/annotation.ts'
import type {CellKind} from '../../files/cell-kind.ts'

/** Maximum number of bytes of a data contract as JSON. Equals the limit of a template. */
const contractBytes = 500_000

export const kindsOfType = {
  integer: ['integer'],
  number: ['integer', 'decimal'],
  boolean: ['boolean'],
  date: ['date'],
  email: ['email'],
  url: ['url'],
  phone: ['phone', 'integer'],
} as const satisfies Record<string, CellKind[]>

const Share = z.number().min(0).max(1)

const ColumnExpectations = z
  .strictObject({
    name: z.string().min(1).max(1000).describe('The column, after cleaning'),
    present: z.boolean().default(true).describe('Whether the file must have the column'),
    type: z
      .enum(Object.keys(kindsOfType) as (keyof typeof kindsOfType)[])
      .nullable()
      .default(null)
      .describe('What every cell that is not empty must be. `number` accepts integers too. Null: anything'),
    unique: z.boolean().default(false).describe('Whether a value may occur once only. Empty cells do not count'),
    values: z
      .array(z.string().max(255))
      .min(1)
      .max(1000)
      .nullable()
      .default(null)
      .describe('The allowed values. Surrounding blanks do not count. Null: any value'),
    picklist: z
      .strictObject({
        module: z.string().max(100).describe('API name of the module'),
        field: z.string().max(100).describe('API name of the picklist'),
      })
      .nullable()
      .default(null)
      .describe('A picklist of the CRM whose options are the allowed values, as of the newest discovery. Null: none'),
    emptyShare: Share.nullable().default(null).describe('The largest share of empty cells. Null: any'),
  })
  .meta({id: 'ColumnExpectations', description: 'What a data contract expects of one column'})
export type ColumnExpectations = z.output<typeof ColumnExpectations>

/** The highest allowed deviation that a contract can state, as a multiple of the median row count. */
export const mostChange = 100

const RowExpectations = z
  .strictObject({
    least: z.int().min(0).nullable().default(null).describe('The fewest rows. Null: any'),
    most: z.int().min(1).nullable().default(null).describe('The most rows. Null: any'),
    change: z
      .number()
      .gt(0)
      .max(mostChange)
      .nullable()
      .default(null)
      .describe(
        'The largest deviation from the median of the last ten accepted files, as a share of it: 0.5 allows half as many to half as many again. Compared from three accepted files on. Null: any',
      ),
  })
  .meta({id: 'RowExpectations', description: 'How many rows a data contract expects'})
export type RowExpectations = z.output<typeof RowExpectations>

export const SourceContract = z
  .strictObject({
    slot: z.string().min(1).max(64).describe('The slot of the template'),
    columns: z.array(ColumnExpectations).max(500).default([]).describe('Expectations by column'),
    otherColumns: z.enum(['allow', 'refuse']).default('allow').describe('Whether the file may have columns that are not in `columns`'),
    rows: RowExpectations.default({least: null, most: null, change: null}).describe('Expectations about the number of rows'),
  })
  .meta({id: 'SourceContract', description: 'What a data contract expects of one file'})
export type SourceContract = z.output<typeof SourceContract>

/** The only cell values in a contract are allowed values that an editor stated. */
export const DataContract = z
  .strictObject({sources: z.array(SourceContract).max(20).describe('Expectations by slot. A slot without an entry expects nothing')})
  .superRefine((contract, context) => {
    for (const {path, message} of contradictions(contract)) context.addIssue({code: 'custom', path, message})
  })
  .meta({id: 'DataContract', description: 'What each file of a template must meet'})
export type DataContract = z.output<typeof DataContract>

const contradictions = (contract: {sources: SourceContract[]}): {path: (string | number)[]; message: string}[] => [
  ...findRepeated(contract.sources.map(({slot}) => slot)).map(at => ({
    path: ['sources', at, 'slot'],
    message: 'Another entry has this slot',
  })),
  ...contract.sources.flatMap(({columns, rows}, at) => [
    ...findRepeated(columns.map(({name}) => name)).map(n => ({
      path: ['sources', at, 'columns', n, 'name'],
      message: 'Another entry has this column',
    })),
    ...columns.flatMap(({values, picklist}, n) =>
      values && picklist ? [{path: ['sources', at, 'columns', n, 'picklist'], message: 'State either values or a picklist'}] : [],
    ),
    ...(rows.least !== null && rows.most !== null && rows.least > rows.most
      ? [{path: ['sources', at, 'rows', 'most'], message: 'The most rows cannot be fewer than the fewest'}]
      : []),
  ]),
  ...(Buffer.byteLength(JSON.stringify(contract)) > contractBytes
    ? [{path: [], message: `A data contract has at most ${contractBytes} bytes as JSON`}]
    : []),
]

/** A template without a contract expects nothing and has version 0. */
export const contractOf = (row: ContractRow | null): DataContract & {version: number} => ({
  ...DataContract.parse({sources: row?.sources ?? []}),
  version: row?.version ?? 0,
})

/** Returns the positions of the expectations whose slot is not one of `slots`. No file would be checked against them. */
export const listUnknownSlots = ({sources}: DataContract, slots: readonly {slot: string}[]): number[] =>
  sources.flatMap(({slot}, at) => (slots.some(one => one.slot === slot) ? [] : [at]))

export const isBare = ({sources}: DataContract) => sources.length === 0
