/** An unsupported nested parameter is an error of the stand-in, and never ignored. */
export const only = (given: object | undefined, names: string[], whole: string) => {
  const other = Object.keys(given ?? {}).find(name => !names.includes(name))
  if (other !== undefined) throw new TypeError(`The stand-in does not carry ${whole}[${other}]`)
}
