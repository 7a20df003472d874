declare module "workerd" {
  /** The path of the program. */
  const program: string
  export default program
}
