import {createHash} from 'node:crypto'
import type {Store} from './store.ts'

const letters = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Ids in the provider's form, equal for equal seeds and calls. */
export const createIds = (store: Store, seed: string) => (prefix: string) => {
  const name = `ids:${prefix}`
  const count = (store.get('~count', name)?.count ?? 0) + 1
  store.put({id: name, object: '~count', count})
  const hash = createHash('sha256').update(`${seed}:${prefix}:${count}`).digest()
  return `${prefix}_1${[...hash.subarray(0, 23)].map(byte => letters[byte % letters.length]).join('')}`
}

export const secretOf = (seed: string, name: string) => `whsec_${createHash('sha256').update(`${seed}:${name}`).digest('hex').slice(0, 32)}`
