import {BLOCK_ROWS, blockOf} from './log-chunks.ts'

/** A row of an import, identified by its flow and its row number. Rows of external engines have keys instead. */
export type NumberedRow = {module: number; flow: number; number: number}
/** Rows of one flow in one block. `bits`: the text form of `bit(1024)`, in which bit n is row number `block * 1024 + n`. */
export type RowBlock = {module: number; flow: number; block: number; bits: string}

/** Groups rows by module, flow and block. Sorts the blocks, so that all statements lock them in the same order. */
export const blocksOf = (rows: readonly NumberedRow[]): RowBlock[] => {
  const blocks = new Map<string, Omit<RowBlock, 'bits'> & {bytes: Buffer}>()
  for (const {module, flow, number} of rows) {
    const block = blockOf(number)
    const name = `${module} ${flow} ${block}`
    let found = blocks.get(name)
    if (!found) blocks.set(name, (found = {module, flow, block, bytes: Buffer.alloc(BLOCK_ROWS / 8)}))
    const at = number % BLOCK_ROWS
    found.bytes[at >> 3]! |= 0x80 >> (at & 7)
  }
  return [...blocks.values()]
    .toSorted((a, b) => a.module - b.module || a.flow - b.flow || a.block - b.block)
    .map(({bytes, ...block}) => ({...block, bits: `x${bytes.toString('hex')}`}))
}
