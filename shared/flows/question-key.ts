import {createHash} from 'node:crypto'
import type {QuestionKind} from '../../sql/decisions.ts'

/** `field`: of a lookup. `value`: what the rows that ask have in common, as matching sees it; nothing of it can be read back. */
type About = {kind: QuestionKind; flowId: string; field: string | null; value: Buffer}

/** Names a question for a person: 16 bytes, equal for every row and every run of an import that asks the same. */
export const questionKeyOf = ({kind, flowId, field, value}: About): Buffer =>
  createHash('sha256')
    .update(JSON.stringify([kind, flowId, field, value.toString('hex')]))
    .digest()
    .subarray(0, 16)
