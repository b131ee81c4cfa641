import type {z} from 'zod'

const controls = /[\p{Cc}\p{Zl}\p{Zp}]/u

/** For names: they are printed in terminals, log lines and file names. */
export const oneLine = (text: z.ZodString) =>
  text.refine(given => !controls.test(given), 'A name is one line. Remove line breaks and other control characters')

/** A name that an earlier build accepted, as `oneLine` accepts it. */
export const toOneLine = (name: string) => name.replaceAll(new RegExp(controls, 'gu'), ' ').trim() || '?'
