import type {Answer} from './answers.ts'
import {Refusal} from './refusals.ts'

type KeptAnswer = {fingerprint: string; answer: Answer | null; at: number}

/** Answers by idempotency key, for 24 hours of the stand-in's clock. */
export type Keys = {
  /** The stored answer of this key, or null to execute the call. */
  begin: (key: string, fingerprint: string, now: number) => Answer | null
  keep: (key: string, answer: Answer) => void
  forget: (key: string) => void
  /** Export and import of stored answers. */
  list: () => [string, KeptAnswer][]
  restore: (all: [string, KeptAnswer][]) => void
}

const day = 24 * 3600
const longest = 255

export const createKeys = (): Keys => {
  const kept = new Map<string, KeptAnswer>()
  return {
    begin: (key, fingerprint, now) => {
      if (key.length > longest) throw refuse(400, `Idempotency keys can be at most ${longest} characters.`)
      const found = kept.get(key)
      if (!found || (found.answer && now - found.at > day)) {
        kept.set(key, {fingerprint, answer: null, at: now})
        return null
      }
      if (found.fingerprint !== fingerprint) {
        throw refuse(
          400,
          `Keys for idempotent requests can only be used with the same parameters they were first used with. Try using a key other than '${key}' if you meant to execute a different request.`,
        )
      }
      if (!found.answer) {
        throw refuse(
          409,
          `There is currently another in-progress request using this Idempotent Key (that probably means you submitted twice, and the other request is still going through): ${key}.`,
          'idempotency_key_in_use',
        )
      }
      return found.answer
    },
    keep: (key, answer) => {
      const found = kept.get(key)
      if (found) found.answer = answer
    },
    forget: key => void kept.delete(key),
    list: () => [...kept].filter(([, {answer}]) => answer !== null),
    restore: all => {
      for (const [key, one] of all) kept.set(key, one)
    },
  }
}

const refuse = (status: number, message: string, code?: string) =>
  new Refusal(status, {type: 'idempotency_error', message, ...(code ? {code} : {})})
