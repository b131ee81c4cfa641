import {useEffect, useState} from 'preact/hooks'

const prefix = 'lading.kept.'

/**
 * Like `useState`, but the value survives a reload of the tab. The third result resets the value. `key` must contain the ids of the objects to which
 * the value belongs.
 */
export const useKept = <T>(key: string, initial: T): [T, (next: T | ((before: T) => T)) => void, () => void] => {
  const [value, setValue] = useState<T>(() => readKept(key) ?? initial)
  useEffect(() => sessionStorage.setItem(prefix + key, JSON.stringify(value)), [key, value])
  const forget = () => {
    setValue(initial)
    sessionStorage.removeItem(prefix + key)
  }
  return [value, setValue as (next: T | ((before: T) => T)) => void, forget]
}

/** Counts the kept lists that have items, and whose key begins with `start`. */
export const countKept = (start: string): number =>
  Object.keys(sessionStorage).filter(key => key.startsWith(prefix + start) && readKept(key.slice(prefix.length))?.length > 0).length

/** Deletes all kept values. Call it when the person signs out, or when another person or org uses the tab. */
export const forgetKept = (): void => {
  for (const key of Object.keys(sessionStorage)) if (key.startsWith(prefix)) sessionStorage.removeItem(key)
}

const readKept = (key: string) => {
  try {
    return JSON.parse(sessionStorage.getItem(prefix + key) ?? 'null')
  } catch {
    return null
  }
}
