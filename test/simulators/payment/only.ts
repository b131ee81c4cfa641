/** A parameter within a parameter that the stand-in does not carry is its own mistake, and never silently left out. */
export const only = (given: object | undefined, names: string[], whole: string) => {
  const other = Object.keys(given ?? {}).find(name => !names.includes(name))
  if (other !== undefined) throw new TypeError(`The stand-in does not carry ${whole}[${other}]`)
}
