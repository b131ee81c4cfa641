/** What no CRM gives as an id names no record: there is nothing to ask. */
export const isId = (text: string) => /^\d{1,20}$/.test(text)
