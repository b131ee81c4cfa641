/** Returns how many rows a page of a table shows: ten on a phone, where a longer page hides the buttons below it. */
export const rowsPerPage = (usual: number): number => (matchMedia('(max-width: 40rem)').matches ? 10 : usual)
