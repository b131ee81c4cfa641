import type {z} from 'zod'

const controls = /[\p{Cc}\p{Zl}\p{Zp}]/u

export const notOneLine = 'A name is one line. Remove line breaks and other control characters'

export const isOneLine = (name: string) => !controls.test(name)

/** Limits a name to one line, because names appear in terminals, log lines and file names. */
export const oneLine = (text: z.ZodString) => text.refine(isOneLine, notOneLine)

/** Converts a name that an earlier release accepted into one that `oneLine` accepts. */
export const toOneLine = (name: string) => name.replaceAll(new RegExp(controls, 'gu'), ' ').trim() || '?'
